/* Postings to rows of `posting_blocks` and back, compiled.
 *
 * The same as litstore/index/postings.py makes, byte for byte; the form is described there.
 * Nearly all rows of a change are a few postings of a rare term, and what each of them costs in the
 * interpreter is most of the time of adding a paper.
 */

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DOC_MASK 0x7fffffff
#define TF_ESCAPE 255
#define N_CLASSES 6
#define UNBOUNDED_TF 0xffffffffu
#define MOST_SLOTS 0x3fff     /* what an entry of the index has room for */

typedef struct {
    char *bytes;
    size_t used, room;
} Buffer;

typedef struct {
    const int64_t *keys;       /* term << 32 | document, ascending */
    const int32_t *tfs;
    PyObject *lengths;         /* document numbers as bytes -> their lengths as a buffer */
    Buffer index, blob;        /* the rows without bounds, see litstore/index/packing.py */
    PyObject *bounded;         /* the others, as tuples */
    /* The limits of a row, as in litstore/database/layout.py and postings.py. */
    int64_t block_postings, block_span, small, bounded_from;
} Packer;

static const int32_t tf_classes[N_CLASSES] = {1, 2, 4, 8, 16, TF_ESCAPE};

static inline void put_u16(unsigned char *to, uint32_t value)
{
    to[0] = (unsigned char)value;
    to[1] = (unsigned char)(value >> 8);
}

static inline void put_u32(unsigned char *to, uint32_t value)
{
    put_u16(to, value);
    put_u16(to + 2, value >> 16);
}

static inline unsigned char clipped(int32_t tf)
{
    return tf < TF_ESCAPE ? (unsigned char)tf : TF_ESCAPE;
}

/* The first place from `low` on whose key is `key` or larger. */
static int64_t first_from(const Packer *self, int64_t low, int64_t high, int64_t key)
{
    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        if (self->keys[middle] < key)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Room for so many bytes behind the last one; NULL, with an exception set, without memory. */
static char *reserve(Buffer *buffer, size_t size)
{
    if (buffer->room - buffer->used < size) {
        size_t room = buffer->room * 2 + size + 4096;
        char *bytes = realloc(buffer->bytes, room);
        if (!bytes) {
            PyErr_NoMemory();
            return NULL;
        }
        buffer->bytes = bytes;
        buffer->room = room;
    }
    return buffer->bytes + buffer->used;
}

static void put_offsets(const Packer *self, int64_t start, int64_t end, int width, char *bytes)
{
    unsigned char *to = (unsigned char *)bytes;
    int64_t base = self->keys[start];
    if (width == 2)
        for (int64_t i = start; i < end; i++, to += 2)
            put_u16(to, (uint32_t)(self->keys[i] - base));
    else
        for (int64_t i = start; i < end; i++, to += 4)
            put_u32(to, (uint32_t)(self->keys[i] - base));
}

static int64_t slots_of(const Packer *self, int64_t start, int64_t end, int width)
{
    return width ? end - start : self->keys[end - 1] - self->keys[start] + 1;
}

static void put_tfs(const Packer *self, int64_t start, int64_t end, int width, char *bytes)
{
    unsigned char *to = (unsigned char *)bytes;
    int64_t base = self->keys[start];
    if (width) {
        for (int64_t i = start; i < end; i++)
            *to++ = clipped(self->tfs[i]);
    } else {
        memset(to, 0, (size_t)slots_of(self, start, end, width));
        for (int64_t i = start; i < end; i++)
            to[self->keys[i] - base] = clipped(self->tfs[i]);
    }
}

/* One pair (largest tf, smallest length) for each class of frequencies that occurs. */
static PyObject *packed_bounds(const Packer *self, int64_t start, int64_t end)
{
    int64_t n = end - start;
    PyObject *docs = PyBytes_FromStringAndSize(NULL, n * 8);
    if (!docs)
        return NULL;
    for (int64_t i = 0; i < n; i++) {
        int64_t doc = self->keys[start + i] & DOC_MASK;
        memcpy(PyBytes_AS_STRING(docs) + i * 8, &doc, 8);
    }
    PyObject *answer = PyObject_CallOneArg(self->lengths, docs);
    Py_DECREF(docs);
    if (!answer)
        return NULL;
    Py_buffer lengths;
    int failed = PyObject_GetBuffer(answer, &lengths, PyBUF_SIMPLE);
    Py_DECREF(answer);
    if (failed)
        return NULL;
    if (lengths.len != n * 4) {
        PyBuffer_Release(&lengths);
        PyErr_SetString(PyExc_ValueError, "one length for each document expected");
        return NULL;
    }
    int32_t largest[N_CLASSES] = {0};
    uint32_t smallest[N_CLASSES];
    for (int64_t i = 0; i < n; i++) {
        int32_t tf = clipped(self->tfs[start + i]);
        uint32_t length;
        memcpy(&length, (const char *)lengths.buf + i * 4, 4);
        int at = 0;
        while (tf > tf_classes[at])
            at++;
        if (!largest[at] || length < smallest[at])
            smallest[at] = length;
        if (tf > largest[at])
            largest[at] = tf;
    }
    PyBuffer_Release(&lengths);
    unsigned char pairs[N_CLASSES * 8];
    unsigned char *to = pairs;
    for (int at = 0; at < N_CLASSES; at++) {
        if (!largest[at])
            continue;
        put_u32(to, largest[at] == TF_ESCAPE ? UNBOUNDED_TF : (uint32_t)largest[at]);
        put_u32(to + 4, smallest[at]);
        to += 8;
    }
    return PyBytes_FromStringAndSize((const char *)pairs, to - pairs);
}

/* Add a row with bounds, as a tuple. */
static int add_bounded(Packer *self, int64_t start, int64_t end, int width)
{
    int64_t n = slots_of(self, start, end, width);
    PyObject *tfs = PyBytes_FromStringAndSize(NULL, n);
    PyObject *offsets =
        width ? PyBytes_FromStringAndSize(NULL, n * width) : Py_NewRef(Py_None);
    PyObject *bounds = packed_bounds(self, start, end);
    if (!tfs || !offsets || !bounds) {
        Py_XDECREF(tfs);
        Py_XDECREF(offsets);
        Py_XDECREF(bounds);
        return -1;
    }
    put_tfs(self, start, end, width, PyBytes_AS_STRING(tfs));
    if (width)
        put_offsets(self, start, end, width, PyBytes_AS_STRING(offsets));
    PyObject *row = Py_BuildValue("(LLiNNN)", (long long)self->keys[start], (long long)n, width,
                                  offsets, tfs, bounds);
    if (!row)
        return -1;
    int failed = PyList_Append(self->bounded, row);
    Py_DECREF(row);
    return failed;
}

/* Add a row of these postings; width: bytes of an offset, 0 = dense. */
static int add_row(Packer *self, int64_t start, int64_t end, int width, int bounded)
{
    if (bounded)
        return add_bounded(self, start, end, width);
    int64_t n = slots_of(self, start, end, width);
    char *to = reserve(&self->blob, (size_t)(n * (width + 1)));
    char *entry = reserve(&self->index, 64);
    if (!to || !entry)
        return -1;
    int64_t packed = (int64_t)self->blob.used << 16 | n << 2 | width >> 1;
    self->index.used += (size_t)snprintf(entry, 64, "%c\"%" PRId64 "\":%" PRId64,
                                         self->index.used ? ',' : '{', self->keys[start], packed);
    if (width)
        put_offsets(self, start, end, width, to);
    put_tfs(self, start, end, width, to + n * width);
    self->blob.used += (size_t)(n * (width + 1));
    return 0;
}

/* Where the sparse row that starts at `at` ends, and how wide its offsets are. */
static int64_t sparse_end(const Packer *self, int64_t at, int64_t end, int *width)
{
    int64_t full = end - at < self->block_postings ? end : at + self->block_postings;
    int64_t narrow_end = first_from(self, at, full, self->keys[at] + 0x10000);
    *width = 2;
    if (narrow_end == end || narrow_end - at >= self->small)
        return narrow_end;
    int64_t short_end = end - at < self->small - 1 ? end : at + self->small - 1;
    *width = short_end <= narrow_end ? 2 : 4;
    return short_end;
}

/* A stretch that may need several rows; each step takes at least one posting. */
static int split(Packer *self, int64_t at, int64_t end)
{
    while (at < end) {
        int64_t base = self->keys[at];
        int64_t row_end = first_from(self, at, end, base + self->block_span);
        int64_t count = row_end - at;
        int64_t span = self->keys[row_end - 1] - base + 1;
        int width = 0;
        /* A few postings on their own, with others far behind, share a row of 4-byte offsets. */
        if (3 * count < span || (count < self->small && row_end != end))
            row_end = sparse_end(self, at, end, &width);
        if (add_row(self, at, row_end, width, row_end - at >= self->bounded_from))
            return -1;
        at = row_end;
    }
    return 0;
}

static int pack_run(Packer *self, int64_t start, int64_t end)
{
    int64_t count = end - start;
    int64_t span = self->keys[end - 1] - self->keys[start] + 1;
    int narrow = span <= 0x10000;
    int dense = span <= self->block_span && 3 * count >= span;
    int simple = !dense && (narrow ? count <= self->block_postings : count < self->small);
    if (count >= self->bounded_from || (!simple && count > 1))
        return split(self, start, end);
    return add_row(self, start, end, simple ? (narrow ? 2 : 4) : 0, 0);
}

PyDoc_STRVAR(pack_doc,
"pack(keys, tfs, runs, lengths, limits)\n--\n\n"
"Return the rows that litstore.index.postings.encode describes as (index, blob, bounded), see\n"
"litstore.index.packing.Packed.\n"
"keys, runs: int64. tfs: int32, from 1 on. lengths: called with document numbers, int64 as bytes;\n"
"gives uint32. limits: postings of a sparse row, slots of a dense one, SMALL, BOUNDED.");

static PyObject *pack(PyObject *module, PyObject *args)
{
    Py_buffer keys, tfs, runs;
    Packer self;
    long long postings, span, small, bounded;
    (void)module;
    if (!PyArg_ParseTuple(args, "y*y*y*O(LLLL)", &keys, &tfs, &runs, &self.lengths, &postings,
                          &span, &small, &bounded))
        return NULL;
    self.keys = keys.buf;
    self.tfs = tfs.buf;
    self.block_postings = postings;
    self.block_span = span;
    self.small = small;
    self.bounded_from = bounded;
    memset(&self.index, 0, sizeof self.index);
    memset(&self.blob, 0, sizeof self.blob);
    self.bounded = PyList_New(0);
    int64_t n = keys.len / 8, n_runs = runs.len / 8;
    const int64_t *starts = runs.buf;
    int failed = !self.bounded;
    int in_range = postings >= 1 && postings <= MOST_SLOTS && span >= 1 && span <= MOST_SLOTS
                   && small >= 2 && small <= MOST_SLOTS;
    if (!failed && (!in_range || keys.len % 8 || runs.len % 8 || tfs.len != n * 4
                    || (n > 0) != (n_runs > 0) || (n_runs && starts[0] != 0))) {
        PyErr_SetString(PyExc_ValueError, "keys, frequencies and runs do not fit together");
        failed = 1;
    }
    for (int64_t i = 0; !failed && i < n; i++)
        if (self.tfs[i] < 1 || (i && self.keys[i] <= self.keys[i - 1])) {
            PyErr_SetString(PyExc_ValueError, "keys must ascend, and frequencies be 1 or more");
            failed = 1;
        }
    for (int64_t i = 0; !failed && i < n_runs; i++) {
        int64_t end = i + 1 < n_runs ? starts[i + 1] : n;
        if (end <= starts[i] || end > n
            || self.keys[starts[i]] >> 32 != self.keys[end - 1] >> 32) {
            PyErr_SetString(PyExc_ValueError, "runs must ascend, each of one term");
            failed = 1;
            break;
        }
        failed = pack_run(&self, starts[i], end);
    }
    PyBuffer_Release(&keys);
    PyBuffer_Release(&tfs);
    PyBuffer_Release(&runs);
    PyObject *packed = NULL;
    if (!failed)
        packed = Py_BuildValue("(s#y#O)", self.index.bytes ? self.index.bytes : "",
                               (Py_ssize_t)self.index.used,
                               self.blob.bytes ? self.blob.bytes : "", (Py_ssize_t)self.blob.used,
                               self.bounded);
    free(self.index.bytes);
    free(self.blob.bytes);
    Py_XDECREF(self.bounded);
    return packed;
}

/* The columns of a row as they are read: block, n_slots, offset_width, offsets, tfs, ... */
typedef struct {
    int64_t key, n_slots, width;
    const unsigned char *offsets, *tfs;
} Row;

/* Whether a tuple is a row that does not contradict itself; -1 with an exception set. */
static int row_of(PyObject *item, Row *row)
{
    if (!PyTuple_Check(item) || PyTuple_GET_SIZE(item) < 5)
        return 0;
    int64_t *numbers[] = {&row->key, &row->n_slots, &row->width};
    for (int i = 0; i < 3; i++) {
        PyObject *number = PyTuple_GET_ITEM(item, i);
        if (!PyLong_Check(number))
            return 0;
        *numbers[i] = PyLong_AsLongLong(number);
        if (*numbers[i] == -1 && PyErr_Occurred())
            return -1;
    }
    PyObject *offsets = PyTuple_GET_ITEM(item, 3), *tfs = PyTuple_GET_ITEM(item, 4);
    if (!PyBytes_Check(tfs) || !(offsets == Py_None || PyBytes_Check(offsets)))
        return 0;
    row->tfs = (const unsigned char *)PyBytes_AS_STRING(tfs);
    Py_ssize_t size = 0;
    row->offsets = NULL;
    if (offsets != Py_None) {
        row->offsets = (const unsigned char *)PyBytes_AS_STRING(offsets);
        size = PyBytes_GET_SIZE(offsets);
    }
    return PyBytes_GET_SIZE(tfs) == row->n_slots
        && (row->width == 0 || row->width == 2 || row->width == 4)
        && size == row->n_slots * row->width;
}

static inline int64_t offset_at(const Row *row, int64_t slot)
{
    const unsigned char *at = row->offsets + slot * row->width;
    if (row->width == 2)
        return at[0] | at[1] << 8;
    if (row->width == 4)
        return (int64_t)(at[0] | at[1] << 8 | at[2] << 16 | (uint32_t)at[3] << 24);
    return slot;
}

PyDoc_STRVAR(unpack_doc,
"unpack(rows)\n--\n\n"
"Return (keys, tfs, places) of the postings of a list of rows, as bytes: int64, int32, int64.\n"
"A place says which of the rows a posting came from. Where a row is damaged its place is returned.");

static PyObject *unpack(PyObject *module, PyObject *rows)
{
    (void)module;
    if (!PyList_Check(rows)) {
        PyErr_SetString(PyExc_TypeError, "a list of rows expected");
        return NULL;
    }
    int64_t n = 0;
    Row row;
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(rows); i++) {
        int fits = row_of(PyList_GET_ITEM(rows, i), &row);
        if (fits < 0)
            return NULL;
        if (!fits)
            return PyLong_FromSsize_t(i);
        for (int64_t slot = 0; slot < row.n_slots; slot++)
            n += row.tfs[slot] != 0;
    }
    PyObject *keys = PyBytes_FromStringAndSize(NULL, n * 8);
    PyObject *tfs = PyBytes_FromStringAndSize(NULL, n * 4);
    PyObject *places = PyBytes_FromStringAndSize(NULL, n * 8);
    if (!keys || !tfs || !places) {
        Py_XDECREF(keys);
        Py_XDECREF(tfs);
        Py_XDECREF(places);
        return NULL;
    }
    int64_t *key = (int64_t *)PyBytes_AS_STRING(keys);
    int32_t *tf = (int32_t *)PyBytes_AS_STRING(tfs);
    int64_t *place = (int64_t *)PyBytes_AS_STRING(places);
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(rows); i++) {
        row_of(PyList_GET_ITEM(rows, i), &row);
        for (int64_t slot = 0; slot < row.n_slots; slot++) {
            if (!row.tfs[slot])
                continue;
            *key++ = row.key + offset_at(&row, slot);
            *tf++ = row.tfs[slot];
            *place++ = i;
        }
    }
    return Py_BuildValue("(NNN)", keys, tfs, places);
}

static PyMethodDef packer_methods[] = {
    {"unpack", unpack, METH_O, unpack_doc},
    {"pack", pack, METH_VARARGS, pack_doc},
    {NULL, NULL, 0, NULL},
};

static PyModuleDef_Slot packer_slots[] = {
    {0, NULL},
};

static struct PyModuleDef packer_module = {
    PyModuleDef_HEAD_INIT,
    .m_name = "litstore.index._packer",
    .m_doc = "Postings to rows and back.",
    .m_size = 0,
    .m_methods = packer_methods,
    .m_slots = packer_slots,
};

PyMODINIT_FUNC PyInit__packer(void)
{
    return PyModuleDef_Init(&packer_module);
}
