/* Exact top-k BM25 over packed postings, compiled.
 *
 * The same results as litstore/index/kernel_numpy.py, bit for bit: a score is the sum over the
 * query's tokens, left to right, of idf * ((tf * (k1 + 1)) / (tf + norm)) in double precision, with
 * no fused operations. Everything that only decides what can be left out is computed with bounds
 * that are rounded up, so a paper is dropped only if its score is strictly below the k-th best.
 *
 * Method: MaxScore (Turtle & Flood, 1995) by windows of document numbers, as in Lucene's
 * MaxScoreBulkScorer. In each window the terms are ordered by the largest contribution that any of
 * their rows overlapping it can make; those whose sum cannot reach the threshold are not read, only
 * probed for papers that the other terms found.
 *
 * A term that is searched again gets one byte a posting, its *level*: its contribution as a multiple
 * of 1/255 of its row's bound, rounded up. Levels take the place of term frequency, length and
 * division in everything that decides what can be left out; many of them are compared at once.
 *
 * Whether a document is looked up in a term or the term is read is decided anew in each window, by
 * how many documents the terms that were read leave.
 *
 * For a term without levels, the *code* of a document stands for its length norm: one byte, by which
 * the largest contribution is looked up instead of divided for. The codes of a million documents stay
 * near the processor where their norms do not.
 *
 * Where only some documents are allowed, the others are left out before they are compared with the
 * threshold, windows without an allowed one are not read, and in a window with few these are scored
 * one by one: the result is exact among the allowed.
 *
 * A Term holds references to the bytes objects as SQLite returned them and a table of their rows;
 * it is checked once, when it is made, so that no later access can leave the buffers: a damaged row
 * is a ValueError, never a crash. Terms never change, and searching releases the GIL.
 */

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <float.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

#ifdef __clang__
#pragma STDC FP_CONTRACT OFF
#endif

#define K1 1.5
#define B 0.75
#define WINDOW_BITS 12
#define WINDOW (1 << WINDOW_BITS)
#define ESCAPE 255
#define SAMPLE 256               /* so many documents are scored for a first threshold */
#define FEW_BEST 32              /* or so many, the best among PROMISING postings of a term with levels */
#define PROMISING 4096
#define PROBE_COST 48            /* reading postings that take as long as looking up one, about */
#define GIVE_UP_COST 24          /* the same for a document that is soon seen not to be good enough */
#define CROWDING_COST 600        /* postings that take as long as looking at every sum of a window */
#define CODED_TFS 16
#define MANY 2048                /* with a rest, and 16 k: more documents are too many */
#define WELL_ABOVE 2             /* times the rest: with less, too many documents are left */
#define LEVELS 255
#define LANES 16
#define STRIDE 64
#define SOME 64
/* With so many postings in a window, every sum is looked at instead of those that were touched. */
#define CROWDED (WINDOW / 32)

/* Sums of bounds and of float contributions are off by at most a few units in the last place of a
 * float (2^-24 = 6e-8) for each of the terms: what is compared with the threshold is made larger by
 * this factor, more than ten times that. */
#define SLACK_BASE (1 + 1e-5)
#define SLACK_PER_TERM 1e-6

typedef struct {
    int64_t first, last;     /* document numbers of the first and the last slot */
    int32_t n;               /* slots */
    int32_t width;           /* bytes an offset, 0 = dense */
    const uint8_t *offsets;  /* little-endian; NULL where dense */
    const uint8_t *tfs;
    float bound;             /* no tf_norm in this row is larger */
    Py_ssize_t start;        /* slots in the term's rows before this one */
} Row;

typedef struct {
    PyObject_HEAD
    PyObject *kept;          /* the bytes objects that the rows point into */
    Row *rows;
    Py_ssize_t n_rows;
    int64_t *large_docs;     /* ascending; papers whose tf is 255 or more */
    int64_t *large_tfs;
    Py_ssize_t n_large;
    Py_ssize_t n_bytes;
    Py_ssize_t n_slots;
    uint8_t *levels;         /* one a slot, 0 where it is empty; NULL until searched again */
    float *peaks;            /* no tf_norm in this window is larger; NULL like the levels, and where
                                there are not many more slots than windows */
    int was_searched;
    int64_t n_docs;          /* every document number is below this */
    float bound;
} Term;

static inline uint32_t offset_at(const Row *row, int32_t i)
{
    const uint8_t *p = row->offsets + (size_t)i * row->width;
    uint32_t low = (uint32_t)p[0] | (uint32_t)p[1] << 8;
    return row->width == 2 ? low : low | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

static int64_t large_tf(const Term *term, int64_t doc)
{
    Py_ssize_t low = 0, high = term->n_large;
    while (low < high) {
        Py_ssize_t middle = low + (high - low) / 2;
        if (term->large_docs[middle] < doc)
            low = middle + 1;
        else
            high = middle;
    }
    return low < term->n_large && term->large_docs[low] == doc ? term->large_tfs[low] : ESCAPE;
}

static inline double tf_norm(double tf, double norm)
{
    return (tf * (K1 + 1)) / (tf + norm);
}

/* ---- codes ------------------------------------------------------------------------------ */

/* Code c > 0 stands for the norms from LEAST_NORM * 2 ** ((c - 1) / 64) on, about: those whose bits
 * as a float, without the last CODE_SHIFT, are c - 1 more than LEAST_NORM's. The last code has no
 * end; code 0 is of norms below, which no length gives. */
#define LEAST_NORM 0.375f        /* k1 (1 - b): of an empty document */
#define CODE_SHIFT 17

static float coded[CODED_TFS << 8];   /* by tf << 8 | code: no tf_norm is larger */

static inline uint32_t float_bits(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static inline uint8_t code_of(double norm)
{
    /* Nothing that is below a bound may be rounded up to it. */
    float value = (float)(norm * (1 - 1e-7));
    if (!(value >= LEAST_NORM))
        return norm >= LEAST_NORM ? 1 : 0;
    uint32_t step = (float_bits(value) - float_bits(LEAST_NORM)) >> CODE_SHIFT;
    return step < 254 ? (uint8_t)(step + 1) : 255;
}

static void fill_coded(void)
{
    for (int tf = 1; tf < CODED_TFS; tf++)
        for (uint32_t code = 0; code < 256; code++) {
            uint32_t bits = float_bits(LEAST_NORM) + ((code - 1) << CODE_SHIFT);
            float norm;
            memcpy(&norm, &bits, sizeof norm);
            double value = tf_norm(tf, code ? (double)norm : 0);
            coded[tf << 8 | code] = (float)(value * (1 + 1e-6));
        }
}

/* ---- Term ------------------------------------------------------------------------------- */

static void term_dealloc(Term *self)
{
    PyTypeObject *type = Py_TYPE(self);
    Py_XDECREF(self->kept);
    PyMem_Free(self->rows);
    PyMem_Free(self->large_docs);
    PyMem_Free(self->large_tfs);
    PyMem_Free(self->levels);
    PyMem_Free(self->peaks);
    type->tp_free((PyObject *)self);
    Py_DECREF(type);
}

static int damaged(const char *what)
{
    PyErr_SetString(PyExc_ValueError, what);
    return -1;
}

static inline uint16_t offset_2(const uint8_t *p)
{
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    /* As one load, where the compiler can make several of them one. */
    uint16_t value;
    memcpy(&value, p, sizeof value);
    return value;
#else
    return (uint16_t)(p[0] | p[1] << 8);
#endif
}

static int ascending_2(const uint8_t *offsets, int32_t n)
{
    uint16_t wrong = 0;
    for (int32_t i = 1; i < n; i++)
        wrong |= offset_2(offsets + 2 * (size_t)i) <= offset_2(offsets + 2 * (size_t)(i - 1));
    return !wrong;
}

static int ascending_4(const Row *row)
{
    int ascending = 1;
    for (int32_t i = 1; i < row->n; i++)
        ascending &= offset_at(row, i) > offset_at(row, i - 1);
    return ascending;
}

/* Check that offsets ascend from 0 and tf bytes are set: afterwards every slot is safe to read. */
static int check_row(Row *row, int64_t previous_last, int64_t n_docs)
{
    if (row->first < 0 || row->first <= previous_last)
        return damaged("rows are not in ascending order");
    if (row->width == 0) {
        row->last = row->first + row->n - 1;
    } else {
        uint32_t last = offset_at(row, row->n - 1);
        int ascending = offset_at(row, 0) == 0 &&
                        (row->width == 2 ? ascending_2(row->offsets, row->n) : ascending_4(row));
        int present = !memchr(row->tfs, 0, (size_t)row->n);
        if (!ascending || !present)
            return damaged("offsets are not in ascending order");
        row->last = row->first + last;
    }
    return row->last < n_docs ? 0 : damaged("a posting has no document");
}

static float row_bound(const Term *term, const Row *row, const double *norms)
{
    double largest = 0;
    for (int32_t i = 0; i < row->n; i++) {
        if (!row->tfs[i])
            continue;
        int64_t doc = row->first + (row->width ? (int64_t)offset_at(row, i) : i);
        double tf = row->tfs[i] == ESCAPE ? (double)large_tf(term, doc) : (double)row->tfs[i];
        double value = tf_norm(tf, norms[doc]);
        if (value > largest)
            largest = value;
    }
    return (float)(largest * (1 + 1e-6));
}

/* Make the levels of a term: (level / 255) * bound of the row is no less than the tf_norm. */
static int make_levels(Term *term, const double *norms)
{
    size_t windows = (size_t)((term->n_docs + WINDOW - 1) >> WINDOW_BITS);
    size_t slots = (size_t)term->n_slots;
    int peaked = slots >= 8 * windows;
    uint8_t *levels = PyMem_Malloc(slots ? slots : 1);
    float *peaks = peaked ? PyMem_Calloc(windows ? windows : 1, sizeof(float)) : NULL;
    if (!levels || (peaked && !peaks)) {
        PyMem_Free(levels);
        PyMem_Free(peaks);
        PyErr_NoMemory();
        return -1;
    }
    for (Py_ssize_t r = 0; r < term->n_rows; r++) {
        const Row *row = term->rows + r;
        double scale = LEVELS / ((double)row->bound * (1 - 1e-7));
        for (int32_t i = 0; i < row->n; i++) {
            double level = 0;
            int64_t doc = row->first + (row->width ? (int64_t)offset_at(row, i) : i);
            if (row->tfs[i]) {
                double tf = row->tfs[i] == ESCAPE ? (double)large_tf(term, doc) : (double)row->tfs[i];
                level = tf_norm(tf, norms[doc]) * scale + 1;
            }
            levels[row->start + i] = level < LEVELS ? (uint8_t)level : LEVELS;
            float peak = row->bound * (float)levels[row->start + i] / LEVELS;
            if (peaks && peak > peaks[doc >> WINDOW_BITS])
                peaks[doc >> WINDOW_BITS] = peak;
        }
    }
    term->levels = levels;
    term->peaks = peaks;
    return 0;
}

/* Bounds as stored: pairs of little-endian u32 (tf, doc_len); each posting of the row has a tf no
 * larger and a length no smaller than those of one of the pairs. */
static int stored_bound(const uint8_t *raw, Py_ssize_t size, double length_factor,
                        double length_base, float *bound)
{
    if (size == 0 || size % 8)
        return damaged("the bounds of a row are damaged");
    double largest = 0;
    for (Py_ssize_t at = 0; at < size; at += 8) {
        uint32_t pair[2];
        for (int half = 0; half < 2; half++) {
            const uint8_t *p = raw + at + 4 * half;
            pair[half] = (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 |
                         (uint32_t)p[3] << 24;
        }
        double value = tf_norm((double)pair[0], length_base + length_factor * (double)pair[1]);
        if (value > largest)
            largest = value;
    }
    *bound = (float)(largest * (1 + 1e-6));
    return 0;
}

static int read_row(Term *self, Row *row, PyObject *tuple, int64_t previous_last,
                    const double *norms, double length_factor, double length_base)
{
    long long key, n, width;
    PyObject *offsets, *tfs, *bounds;
    if (!PyTuple_Check(tuple) ||
        !PyArg_ParseTuple(tuple, "LLLOOO", &key, &n, &width, &bounds, &offsets, &tfs)) {
        PyErr_Clear();
        return damaged("a row has the wrong form");
    }
    row->first = key & UINT32_MAX;
    if (!PyBytes_Check(tfs) || (width != 0 && width != 2 && width != 4) || n < 1 ||
        n > INT32_MAX || PyBytes_GET_SIZE(tfs) != n || key < 0 || row->first > INT32_MAX)
        return damaged("a row has the wrong size");
    row->n = (int32_t)n;
    row->width = (int32_t)width;
    row->tfs = (const uint8_t *)PyBytes_AS_STRING(tfs);
    row->offsets = NULL;
    if (width) {
        if (!PyBytes_Check(offsets) || PyBytes_GET_SIZE(offsets) != n * width)
            return damaged("the offsets of a row have the wrong size");
        row->offsets = (const uint8_t *)PyBytes_AS_STRING(offsets);
        self->n_bytes += n * width;
    } else if (offsets != Py_None && !(PyBytes_Check(offsets) && !PyBytes_GET_SIZE(offsets))) {
        return damaged("a dense row has offsets");
    }
    row->start = self->n_slots;
    self->n_slots += n;
    /* The levels are counted before they are there; peaks are never more than half of them. */
    self->n_bytes += 2 * n + (Py_ssize_t)sizeof(Row) + 150;
    if (check_row(row, previous_last, self->n_docs))
        return -1;
    if (bounds == Py_None) {
        row->bound = row_bound(self, row, norms);
        return 0;
    }
    if (!PyBytes_Check(bounds))
        return damaged("the bounds of a row are damaged");
    return stored_bound((const uint8_t *)PyBytes_AS_STRING(bounds), PyBytes_GET_SIZE(bounds),
                        length_factor, length_base, &row->bound);
}

static int read_large(Term *self, PyObject *large)
{
    Py_ssize_t n = PyList_GET_SIZE(large);
    self->large_docs = PyMem_Calloc(n ? n : 1, sizeof(int64_t));
    self->large_tfs = PyMem_Calloc(n ? n : 1, sizeof(int64_t));
    if (!self->large_docs || !self->large_tfs) {
        PyErr_NoMemory();
        return -1;
    }
    for (Py_ssize_t i = 0; i < n; i++) {
        long long doc, tf;
        PyObject *pair = PyList_GET_ITEM(large, i);
        if (!PyTuple_Check(pair) || !PyArg_ParseTuple(pair, "LL", &doc, &tf))
            return -1;
        if (tf < ESCAPE || tf > INT32_MAX || (i && doc <= self->large_docs[i - 1]))
            return damaged("a large term frequency is damaged");
        self->large_docs[i] = doc;
        self->large_tfs[i] = tf;
    }
    self->n_large = n;
    return 0;
}

static const double *doubles(Py_buffer *view, PyObject *object, Py_ssize_t *n)
{
    if (PyObject_GetBuffer(object, view, PyBUF_SIMPLE))
        return NULL;
    if (view->len % sizeof(double) || (uintptr_t)view->buf % _Alignof(double)) {
        PyBuffer_Release(view);
        PyErr_SetString(PyExc_ValueError, "norms must be doubles");
        return NULL;
    }
    *n = view->len / (Py_ssize_t)sizeof(double);
    return view->buf;
}

static PyObject *term_new(PyTypeObject *type, PyObject *args, PyObject *named)
{
    static char *names[] = {"rows", "large", "norms", "length_factor", "length_base", NULL};
    PyObject *rows, *large, *norms_object;
    double factor, base;
    if (!PyArg_ParseTupleAndKeywords(args, named, "O!O!Odd", names, &PyList_Type, &rows,
                                     &PyList_Type, &large, &norms_object, &factor, &base))
        return NULL;
    Py_buffer view;
    Py_ssize_t n_norms;
    const double *norms = doubles(&view, norms_object, &n_norms);
    if (!norms)
        return NULL;
    Term *self = (Term *)type->tp_alloc(type, 0);
    if (!self) {
        PyBuffer_Release(&view);
        return NULL;
    }
    Py_ssize_t n = PyList_GET_SIZE(rows);
    /* A copy of the list: the caller's may change while the rows point into its items. */
    self->kept = PyList_AsTuple(rows);
    self->rows = PyMem_Calloc(n ? n : 1, sizeof(Row));
    self->n_docs = n_norms;
    int failed = !self->kept || !self->rows || read_large(self, large);
    int64_t last = -1;
    for (Py_ssize_t i = 0; !failed && i < n; i++) {
        Row *row = self->rows + i;
        failed = read_row(self, row, PyTuple_GET_ITEM(self->kept, i), last, norms, factor, base);
        last = row->last;
        self->n_rows = i + 1;
        if (row->bound > self->bound)
            self->bound = row->bound;
    }
    PyBuffer_Release(&view);
    if (failed) {
        if (!PyErr_Occurred())
            PyErr_NoMemory();
        Py_DECREF(self);
        return NULL;
    }
    return (PyObject *)self;
}

/* ---- reading a term in ascending order of documents ---------------------------------------- */

typedef struct {
    Term *term;
    const uint8_t *codes;    /* of all documents, or NULL */
    const uint8_t *levels;   /* of the term, or NULL */
    const float *peaks;      /* of the term, or NULL */
    double idf;              /* of one occurrence in the query */
    float weight;            /* idf times occurrences in the query */
    Py_ssize_t row;          /* first row that does not end before the present document */
    int32_t slot;            /* in a sparse row: every slot before it is before that document */
    float reach;             /* largest contribution in the present window */
} Cursor;

static inline void seek_row(Cursor *cursor, int64_t doc)
{
    const Term *term = cursor->term;
    if (cursor->row >= term->n_rows || term->rows[cursor->row].last >= doc)
        return;
    Py_ssize_t low = cursor->row + 1, step = 1;
    while (low < term->n_rows && term->rows[low].last < doc) {
        low += step;
        step *= 2;
    }
    Py_ssize_t high = low < term->n_rows ? low : term->n_rows;
    low = low - step / 2 > cursor->row ? low - step / 2 : cursor->row + 1;
    while (low < high) {
        Py_ssize_t middle = low + (high - low) / 2;
        if (term->rows[middle].last < doc)
            low = middle + 1;
        else
            high = middle;
    }
    cursor->row = low;
    cursor->slot = 0;
}

static inline int32_t seek_slot(const Row *row, int32_t from, uint32_t offset)
{
    int32_t step = 1, low = from, high;
    while (low < row->n && offset_at(row, low) < offset) {
        from = low + 1;
        low += step;
        step *= 2;
    }
    high = low < row->n ? low : row->n;
    low = from;
    while (low < high) {
        int32_t middle = low + (high - low) / 2;
        if (offset_at(row, middle) < offset)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* The slot of a document in the cursor's row, -1 if it has none. Documents must ascend. */
static inline int32_t find_slot(Cursor *cursor, int64_t doc)
{
    seek_row(cursor, doc);
    if (cursor->row >= cursor->term->n_rows)
        return -1;
    const Row *row = cursor->term->rows + cursor->row;
    if (doc < row->first)
        return -1;
    uint32_t offset = (uint32_t)(doc - row->first);
    if (row->width == 0)
        return (int32_t)offset;
    cursor->slot = seek_slot(row, cursor->slot, offset);
    return cursor->slot < row->n && offset_at(row, cursor->slot) == offset ? cursor->slot : -1;
}

/* The term frequency in a document, 0 if it does not hold the term. Documents must ascend. */
static inline int64_t probe(Cursor *cursor, int64_t doc)
{
    int32_t slot = find_slot(cursor, doc);
    if (slot < 0)
        return 0;
    uint8_t tf = cursor->term->rows[cursor->row].tfs[slot];
    return tf == ESCAPE ? large_tf(cursor->term, doc) : tf;
}

static inline float level_scale(const Cursor *cursor, const Row *row)
{
    return cursor->weight * row->bound / LEVELS;
}

static inline float contribution(const Cursor *cursor, uint8_t tf, int64_t doc, const double *norms)
{
    if (cursor->codes && tf < CODED_TFS)
        return cursor->weight * coded[tf << 8 | cursor->codes[doc]];
    float f = tf == ESCAPE ? (float)large_tf(cursor->term, doc) : (float)tf;
    return cursor->weight * (f * 2.5f / (f + (float)norms[doc]));
}

/* Add to each of some documents, which ascend, what a term adds to its score, at most and about. The
 * documents are `low` and so many more. */
static void add_reaches(Cursor *cursor, int64_t low, const uint16_t *places, float *reached, int n,
                        const double *norms)
{
    const Term *term = cursor->term;
    for (int j = 0; j < n;) {
        seek_row(cursor, low + places[j]);
        if (cursor->row >= term->n_rows)
            return;
        const Row *row = term->rows + cursor->row;
        int64_t base = row->first - low, last = row->last - low;
        while (j < n && places[j] < base)
            j++;
        const uint8_t *levels = cursor->levels ? cursor->levels + row->start : NULL;
        float scale = level_scale(cursor, row);
        if (row->width == 0 && levels) {
            for (; j < n && places[j] <= last; j++)
                reached[j] += scale * (float)levels[places[j] - base];
            continue;
        }
        for (; j < n && places[j] <= last; j++) {
            int32_t slot = (int32_t)(places[j] - base);
            if (row->width) {
                uint32_t offset = (uint32_t)slot;
                slot = cursor->slot = seek_slot(row, cursor->slot, offset);
                /* There is a slot: the last of the row is not before the document. */
                if (offset_at(row, slot) != offset)
                    continue;
            }
            if (levels)
                reached[j] += scale * (float)levels[slot];
            else if (row->tfs[slot])
                reached[j] += contribution(cursor, row->tfs[slot], low + places[j], norms);
        }
    }
}

/* ---- a query ------------------------------------------------------------------------------ */

typedef struct {
    Cursor *cursors;
    Py_ssize_t n_terms;
    const Py_ssize_t *tokens;  /* which term each token of the query is, in order */
    Py_ssize_t n_tokens;
    const double *norms;
    int64_t n_docs;
    const uint8_t *allowed;    /* one byte a document, not 0 where it may be found; NULL: all */
    double *parts;             /* contribution of each term to the document being scored */
    double slack;
} Query;

/* The exact score, from term frequencies that are at hand in `parts` as tf values. */
static double exact(Query *query, int64_t doc, Cursor *cursors)
{
    double norm = query->norms[doc], sum = 0;
    for (Py_ssize_t t = 0; t < query->n_terms; t++) {
        int64_t tf = probe(cursors + t, doc);
        query->parts[t] = tf ? cursors[t].idf * tf_norm((double)tf, norm) : 0;
    }
    for (Py_ssize_t i = 0; i < query->n_tokens; i++) {
        double part = query->parts[query->tokens[i]];
        if (part != 0)
            sum += part;
    }
    return sum;
}

typedef struct {
    double *scores;            /* min-heap of the k best scores so far */
    Py_ssize_t n, k;
    double floor;              /* a lower bound of the k-th best score, from elsewhere */
    double rest;               /* so much less than the k-th best is good enough */
} Best;

static inline double threshold(const Best *best)
{
    double kth = best->n == best->k ? best->scores[0] : 0;
    return (kth > best->floor ? kth : best->floor) - best->rest;
}

static void offer(Best *best, double score)
{
    double *heap = best->scores;
    Py_ssize_t at;
    if (best->n < best->k) {
        at = best->n++;
        while (at && heap[(at - 1) / 2] > score) {
            heap[at] = heap[(at - 1) / 2];
            at = (at - 1) / 2;
        }
    } else {
        if (score <= heap[0])
            return;
        at = 0;
        for (;;) {
            Py_ssize_t child = 2 * at + 1;
            if (child >= best->n)
                break;
            if (child + 1 < best->n && heap[child + 1] < heap[child])
                child++;
            if (heap[child] >= score)
                break;
            heap[at] = heap[child];
            at = child;
        }
    }
    heap[at] = score;
}

typedef struct {
    int64_t *docs;
    double *scores;
    Py_ssize_t n, room;
} Found;

static int keep(Found *found, int64_t doc, double score)
{
    if (found->n == found->room) {
        Py_ssize_t room = found->room ? 2 * found->room : 1024;
        int64_t *docs = realloc(found->docs, (size_t)room * sizeof(int64_t));
        if (docs)
            found->docs = docs;
        double *scores = realloc(found->scores, (size_t)room * sizeof(double));
        if (scores)
            found->scores = scores;
        if (!docs || !scores)
            return -1;
        found->room = room;
    }
    found->docs[found->n] = doc;
    found->scores[found->n++] = score;
    return 0;
}

/* The lowest level of the `n` best among the first postings of a term. */
static uint8_t promising(const Cursor *cursor, Py_ssize_t n)
{
    Py_ssize_t counts[LEVELS + 1] = {0}, found = 0;
    Py_ssize_t size = cursor->term->n_slots;
    if (size > PROMISING && size / 4 > n)
        size = n > PROMISING / 4 ? 4 * n : PROMISING;
    int level = LEVELS;
    for (Py_ssize_t i = 0; i < size; i++)
        counts[cursor->levels[i]]++;
    while (level > 1 && (found += counts[level]) < n)
        level--;
    return (uint8_t)level;
}

/* Score some papers of a term, at most `budget`, but for those that hold one of the terms before it in
 * `order`; return how many were scored. */
static Py_ssize_t sample_term(Query *query, Best *best, Cursor *scratch, const Py_ssize_t *order,
                              Py_ssize_t place, Py_ssize_t budget)
{
    const Term *term = query->cursors[order[place]].term;
    Py_ssize_t scored = 0;
    /* With a filter the best ones may lie far apart. */
    const uint8_t *levels = query->allowed ? NULL : query->cursors[order[place]].levels;
    uint8_t least = levels ? promising(query->cursors + order[place], budget) : 1;
    memcpy(scratch, query->cursors, (size_t)query->n_terms * sizeof(Cursor));
    for (Py_ssize_t r = 0; r < term->n_rows && scored < budget; r++) {
        const Row *row = term->rows + r;
        for (int32_t i = 0; i < row->n && scored < budget; i++) {
            if (levels ? levels[row->start + i] < least : !row->tfs[i])
                continue;
            int64_t doc = row->first + (row->width ? (int64_t)offset_at(row, i) : i);
            if (query->allowed && !query->allowed[doc])
                continue;
            double score = exact(query, doc, scratch);
            int known = 0;
            for (Py_ssize_t j = 0; j < place && !known; j++)
                known = query->parts[order[j]] != 0;
            if (known)
                continue;
            offer(best, score);
            scored++;
        }
    }
    return scored;
}

/* A first threshold: the k-th best of some papers that hold the query's weightiest term, and where
 * these are too few, the next ones. */
static void sample(Query *query, Best *best, Cursor *scratch, Py_ssize_t *order)
{
    for (Py_ssize_t t = 0; t < query->n_terms; t++) {
        float reach = query->cursors[t].weight * query->cursors[t].term->bound;
        Py_ssize_t at = t;
        for (; at && query->cursors[order[at - 1]].weight *
                     query->cursors[order[at - 1]].term->bound < reach; at--)
            order[at] = order[at - 1];
        order[at] = t;
    }
    Py_ssize_t enough = query->cursors[order[0]].levels && !query->allowed ? FEW_BEST : SAMPLE;
    Py_ssize_t budget = best->k * 2 > enough ? best->k * 2 : enough;
    for (Py_ssize_t place = 0; place < query->n_terms && budget > 0 && best->n < best->k; place++)
        budget -= sample_term(query, best, scratch, order, place, budget);
    best->floor = best->n == best->k ? best->scores[0] : 0;
    best->n = 0;
}

/* Which of the next LANES bytes are at least `least`, which of the next floats: one bit each. */
static inline uint32_t bytes_from(const uint8_t *bytes, uint8_t least)
{
#ifdef __SSE2__
    __m128i value = _mm_loadu_si128((const __m128i *)bytes), limit = _mm_set1_epi8((char)least);
    return (uint32_t)_mm_movemask_epi8(_mm_cmpeq_epi8(_mm_max_epu8(value, limit), value));
#else
    uint32_t bits = 0;
    for (int i = 0; i < LANES; i++)
        bits |= (uint32_t)(bytes[i] >= least) << i;
    return bits;
#endif
}

static inline uint32_t floats_from(const float *floats, float least)
{
#ifdef __SSE2__
    __m128 limit = _mm_set1_ps(least), some[LANES / 4];
    for (int i = 0; i < LANES / 4; i++)
        some[i] = _mm_cmpge_ps(_mm_loadu_ps(floats + 4 * i), limit);
    __m128i low = _mm_packs_epi32(_mm_castps_si128(some[0]), _mm_castps_si128(some[1]));
    __m128i high = _mm_packs_epi32(_mm_castps_si128(some[2]), _mm_castps_si128(some[3]));
    return (uint32_t)_mm_movemask_epi8(_mm_packs_epi16(low, high));
#else
    uint32_t bits = 0;
    for (int i = 0; i < LANES; i++)
        bits |= (uint32_t)(floats[i] >= least) << i;
    return bits;
#endif
}

/* Whether one of the next STRIDE floats is at least `least`. */
static inline int any_from(const float *floats, float least)
{
#ifdef __SSE2__
    __m128 largest = _mm_loadu_ps(floats), limit = _mm_set1_ps(least);
    for (int i = 4; i < STRIDE; i += 4)
        largest = _mm_max_ps(largest, _mm_loadu_ps(floats + i));
    return _mm_movemask_ps(_mm_cmpge_ps(largest, limit)) != 0;
#else
    int found = 0;
    for (int i = 0; i < STRIDE; i++)
        found |= floats[i] >= least;
    return found;
#endif
}

/* What a row has in a window: slots from `from` to before `to`. */
typedef struct {
    int32_t from, to;
} Stretch;

/* Where the window lies in one of the cursor's rows, which overlaps it; the cursor's own row must
 * be asked first, and moves on. */
static inline Stretch stretch(Cursor *cursor, Py_ssize_t r, int64_t low, int64_t high)
{
    const Row *row = cursor->term->rows + r;
    Stretch part = {0, row->n};
    if (row->width == 0) {
        if (row->first < low)
            part.from = (int32_t)(low - row->first);
        if (row->last >= high)
            part.to = (int32_t)(high - row->first);
        return part;
    }
    int own = r == cursor->row;
    if (row->first < low)
        part.from = seek_slot(row, own ? cursor->slot : 0, (uint32_t)(low - row->first));
    if (row->last >= high)
        part.to = seek_slot(row, part.from, (uint32_t)(high - row->first));
    if (own)
        cursor->slot = part.to;
    return part;
}

/* The sums of a window, by document: of `all` is looked at each, otherwise of those touched. */
typedef struct {
    float sums[WINDOW];
    uint64_t touched[WINDOW / 64];
    int all;
} Window;

/* Documents of a window that may be good enough, by how far they are into it, ascending; and what they
 * reach by the terms that were asked for them. */
typedef struct {
    uint16_t places[WINDOW];
    float reached[WINDOW];
} Left;

static inline void add(Window *window, int64_t at, float value)
{
    window->sums[at] += value;
    if (!window->all)
        window->touched[at >> 6] |= (uint64_t)1 << (at & 63);
}

/* Add the contributions of some slots of a dense row without large term frequencies: several at
 * once, since an empty slot contributes 0 like any other number. */
static inline void add_dense(float weight, const uint8_t *restrict tfs,
                             const double *restrict norms, float *restrict sums, int32_t n)
{
    for (int32_t i = 0; i < n; i++) {
        float f = (float)tfs[i];
        sums[i] += weight * (f * 2.5f / (f + (float)norms[i]));
    }
}

/* The same of a sparse row, some at a time: the window starts at document `low`, the row `base`
 * after it. */
static void add_sparse(const Cursor *cursor, const Row *row, Stretch part, const double *norms,
                       int64_t low, int64_t base, Window *window)
{
    float weight = cursor->weight;
    norms += low;
    for (int32_t start = part.from; start < part.to; start += SOME) {
        float values[SOME];
        int32_t places[SOME], n = part.to - start < SOME ? part.to - start : SOME;
        const uint8_t *tfs = row->tfs + start, *offsets = row->offsets + 2 * (size_t)start;
        for (int32_t i = 0; i < n; i++) {
            places[i] = (int32_t)(base + offset_2(offsets + 2 * (size_t)i));
            values[i] = (float)norms[places[i]];
        }
        for (int32_t i = 0; i < n; i++) {
            float f = (float)tfs[i];
            values[i] = weight * (f * 2.5f / (f + values[i]));
        }
        if (memchr(tfs, ESCAPE, (size_t)n))
            for (int32_t i = 0; i < n; i++)
                if (tfs[i] == ESCAPE)
                    values[i] = contribution(cursor, ESCAPE, low + places[i], norms - low);
        for (int32_t i = 0; i < n; i++)
            add(window, places[i], values[i]);
    }
}

/* The same with codes, from which no division is needed. */
static void add_coded(const Cursor *cursor, const Row *row, Stretch part, const double *norms,
                      int64_t low, int64_t base, Window *window)
{
    float weight = cursor->weight;
    for (int32_t i = part.from; i < part.to; i++) {
        int64_t at = base + offset_2(row->offsets + 2 * (size_t)i);
        uint8_t tf = row->tfs[i];
        float value = tf < CODED_TFS ? weight * coded[tf << 8 | cursor->codes[low + at]]
                                     : contribution(cursor, tf, low + at, norms);
        add(window, at, value);
    }
}

/* Add the contributions of one term to the window that starts at `low`. */
static void accumulate(Cursor *cursor, const double *norms, int64_t low, int64_t high,
                       Window *window)
{
    const Term *term = cursor->term;
    for (Py_ssize_t r = cursor->row; r < term->n_rows && term->rows[r].first < high; r++) {
        const Row *row = term->rows + r;
        Stretch part = stretch(cursor, r, low, high);
        int64_t base = row->first - low;
        int32_t n = part.to - part.from;
        if (!cursor->levels && row->width == 0 && window->all &&
            !memchr(row->tfs + part.from, ESCAPE, (size_t)n)) {
            int64_t at = base + part.from;
            add_dense(cursor->weight, row->tfs + part.from, norms + low + at, window->sums + at, n);
            continue;
        }
        if (!cursor->levels && row->width == 2) {
            (cursor->codes ? add_coded : add_sparse)(cursor, row, part, norms, low, base, window);
            continue;
        }
        if (!cursor->levels) {
            for (int32_t i = part.from; i < part.to; i++) {
                int64_t at = base + (row->width ? (int64_t)offset_at(row, i) : i);
                if (row->tfs[i])
                    add(window, at, contribution(cursor, row->tfs[i], low + at, norms));
            }
            continue;
        }
        const uint8_t *levels = cursor->levels + row->start;
        float scale = level_scale(cursor, row);
        if (row->width == 0 && window->all) {
            float *restrict sums = window->sums + (base + part.from);
            const uint8_t *restrict from = levels + part.from;
            for (int32_t i = 0; i < n; i++)
                sums[i] += scale * (float)from[i];
        } else if (row->width == 0) {
            for (int32_t i = part.from; i < part.to; i++)
                if (levels[i])
                    add(window, base + i, scale * (float)levels[i]);
        } else if (row->width == 2) {
            for (int32_t i = part.from; i < part.to; i++) {
                const uint8_t *p = row->offsets + 2 * (size_t)i;
                add(window, base + ((int64_t)p[0] | (int64_t)p[1] << 8), scale * (float)levels[i]);
            }
        } else {
            for (int32_t i = part.from; i < part.to; i++)
                add(window, base + offset_at(row, i), scale * (float)levels[i]);
        }
    }
}

/* About how many postings a term has in the window. */
static int64_t crowd(const Cursor *cursor, int64_t low, int64_t high)
{
    const Term *term = cursor->term;
    int64_t n = 0;
    for (Py_ssize_t r = cursor->row; r < term->n_rows && term->rows[r].first < high; r++) {
        const Row *row = term->rows + r;
        int64_t span = row->last + 1 - row->first;
        int64_t from = row->first > low ? row->first : low;
        int64_t to = row->last + 1 < high ? row->last + 1 : high;
        n += row->n * (to - from) / span;
    }
    return n;
}

/* How many documents of the window may be found; not counted on beyond `enough`. */
static inline int64_t count_allowed(const Query *query, int64_t low, int64_t high, int64_t enough)
{
    int64_t n = 0;
    if (!query->allowed)
        return high - low;
    while (low < high && n <= enough) {
        int64_t stop = low + 64 < high ? low + 64 : high;
        for (; low < stop; low++)
            n += query->allowed[low] != 0;
    }
    return n;
}

/* The most documents of a window that are sooner looked up in each term than found by reading. */
static int64_t few(const Query *query)
{
    double slots = 0;
    if (!query->allowed || !query->n_docs || !query->n_terms)
        return 0;
    for (Py_ssize_t t = 0; t < query->n_terms; t++)
        slots += (double)query->cursors[t].term->n_slots;
    double in_window = slots * WINDOW / (double)query->n_docs;
    return (int64_t)(in_window / (PROBE_COST * (double)query->n_terms));
}

/* What each term can contribute in the window: those that can, ascending in `order`. */
static float survey(Query *query, int64_t low, int64_t high, Py_ssize_t *order,
                    Py_ssize_t *n_active)
{
    float sum = 0;
    *n_active = 0;
    for (Py_ssize_t t = 0; t < query->n_terms; t++) {
        Cursor *cursor = query->cursors + t;
        seek_row(cursor, low);
        float bound = 0;
        if (cursor->peaks)
            bound = cursor->peaks[low >> WINDOW_BITS];
        else
            for (Py_ssize_t r = cursor->row;
                 r < cursor->term->n_rows && cursor->term->rows[r].first < high; r++)
                if (cursor->term->rows[r].bound > bound)
                    bound = cursor->term->rows[r].bound;
        cursor->reach = cursor->weight * bound;
        if (cursor->reach == 0)
            continue;
        sum += cursor->reach;
        Py_ssize_t at = (*n_active)++;
        for (; at && query->cursors[order[at - 1]].reach > cursor->reach; at--)
            order[at] = order[at - 1];
        order[at] = t;
    }
    return sum;
}

/* A search under way. */
typedef struct {
    Query *query;
    Best best;
    Found found;
    Window *window;
    Left *left;
    Py_ssize_t *order;         /* the terms that have something in the window, least reach first */
    Py_ssize_t n_active;
    Py_ssize_t n_passive;      /* so many of them are only probed */
    float passive;             /* the sum of their reaches */
    int many;                  /* in the last window too many documents were left to be looked up */
    Py_ssize_t most;           /* so many documents may be found */
    int too_many;              /* more were: the search was given up */
    Cursor *probing, *scoring;
} Search;

/* What the terms that are read must reach together for a document to be looked at. */
static inline float needed(const Search *search)
{
    double limit = threshold(&search->best);
    return (float)(limit / search->query->slack - (double)search->passive);
}

/* Look up what is left in the passive terms, the weightiest first: a term at a time, so that the
 * processor need not wait for one document before it fetches what another needs. */
static int look_up(Search *search, int64_t low, int n)
{
    const Query *query = search->query;
    uint16_t *places = search->left->places;
    float *reached = search->left->reached;
    double limit = threshold(&search->best) / query->slack;
    float rest = search->passive;
    for (Py_ssize_t i = search->n_passive; i-- && n;) {
        Py_ssize_t t = search->order[i];
        rest -= query->cursors[t].reach;
        float least = (float)(limit - (rest > 0 ? (double)rest : 0));
        add_reaches(search->probing + t, low, places, reached, n, query->norms);
        int kept = 0;
        for (int j = 0; j < n; j++) {
            float reaches = reached[j];
            places[kept] = places[j];
            reached[kept] = reaches;
            kept += reaches >= least;
        }
        n = kept;
    }
    return n;
}

/* Take the first `n` of what is left of the window, but for those that are too bad. */
static int take(Search *search, int64_t low, int n)
{
    const Query *query = search->query;
    const Left *left = search->left;
    n = look_up(search, low, n);
    for (int j = 0; j < n; j++) {
        double limit = threshold(&search->best);
        if ((double)left->reached[j] * query->slack < limit)
            continue;
        int64_t doc = low + left->places[j];
        double score = exact(search->query, doc, search->scoring);
        if (score < limit)
            continue;
        if (keep(&search->found, doc, score))
            return -1;
        offer(&search->best, score);
    }
    search->too_many = search->found.n > search->most;
    return 0;
}

/* So many documents are sooner looked up in the next of the passive terms than it is read, for which
 * `more` postings, or as much work, come on top. */
static int64_t sooner_looked_up(const Search *search, int64_t more, int64_t low, int64_t high)
{
    const Cursor *next = search->query->cursors + search->order[search->n_passive - 1];
    return (crowd(next, low, high) + more) / GIVE_UP_COST;
}

static inline int may_be_found(const Query *query, int64_t doc)
{
    return !query->allowed || query->allowed[doc];
}

/* One term alone is read: its levels are compared, many at once. */
static int filter(Search *search, Cursor *cursor, int64_t low, int64_t high)
{
    const Term *term = cursor->term;
    Left *left = search->left;
    int n = 0;
    for (Py_ssize_t r = cursor->row; r < term->n_rows && term->rows[r].first < high; r++) {
        const Row *row = term->rows + r;
        Stretch part = stretch(cursor, r, low, high);
        const uint8_t *levels = cursor->levels + row->start;
        int64_t base = row->first - low;
        float scale = level_scale(cursor, row), least = needed(search) / scale;
        if (least >= LEVELS + 1)
            continue;
        uint8_t level = least > 1 ? (uint8_t)least : 1;
        for (int32_t i = part.from; i < part.to; i += LANES) {
            /* The last few are compared with what follows them: the row's end is not the end. */
            uint32_t bits = 0;
            if (part.to - i >= LANES)
                bits = bytes_from(levels + i, level);
            else
                for (int32_t j = i; j < part.to; j++)
                    bits |= (uint32_t)(levels[j] >= level) << (j - i);
            for (; bits; bits &= bits - 1) {
                int32_t slot = i + __builtin_ctz(bits);
                int64_t place = base + (row->width ? (int64_t)offset_at(row, slot) : slot);
                left->places[n] = (uint16_t)place;
                left->reached[n] = scale * (float)levels[slot];
                n += may_be_found(search->query, low + place);
            }
        }
    }
    int64_t more = crowd(cursor, low, high) + CROWDING_COST;
    search->many = search->n_passive && n > sooner_looked_up(search, more, low, high);
    return take(search, low, n);
}

/* Note the documents of the window that reach so much by what has been summed up. Return how many
 * they are; not all of them are noted where they are more than `enough`. */
static int note(Search *search, int64_t low, float least, int64_t enough)
{
    const Window *window = search->window;
    Left *left = search->left;
    int n = 0;
    for (int start = 0; start < WINDOW && n <= enough; start += STRIDE) {
        const float *sums = window->sums + start;
        uint64_t bits = window->touched[start / STRIDE];
        if (window->all) {
            bits = 0;
            if (any_from(sums, least))
                for (int i = 0; i < STRIDE; i += LANES)
                    bits |= (uint64_t)floats_from(sums + i, least) << i;
        }
        for (; bits; bits &= bits - 1) {
            int at = __builtin_ctzll(bits);
            left->places[n] = (uint16_t)(start + at);
            left->reached[n] = sums[at];
            n += sums[at] >= least && may_be_found(search->query, low + start + at);
        }
    }
    return n;
}

/* Note what is left of the window; where too much is, read passive terms too, the weightiest first. */
static int read_more(Search *search, int64_t low, int64_t high)
{
    const Query *query = search->query;
    Window *window = search->window;
    search->many = 0;
    for (;;) {
        float least = needed(search);
        int64_t enough = WINDOW;
        if (search->n_passive)
            enough = sooner_looked_up(search, window->all ? 0 : CROWDING_COST, low, high);
        int n = note(search, low, least > 0 ? least : FLT_MIN, enough);
        if (n <= enough)
            return n;
        search->many = 1;
        window->all = 1;
        search->n_passive--;
        accumulate(query->cursors + search->order[search->n_passive], query->norms, low, high, window);
        search->passive = 0;
        for (Py_ssize_t i = 0; i < search->n_passive; i++)
            search->passive += query->cursors[search->order[i]].reach;
    }
}

/* Several terms are read: their contributions are summed up by document. */
static int sum_up(Search *search, int64_t low, int64_t high)
{
    const Query *query = search->query;
    Window *window = search->window;
    int64_t n = 0;
    for (Py_ssize_t i = search->n_passive; i < search->n_active; i++)
        n += crowd(query->cursors + search->order[i], low, high);
    int all = window->all = n >= CROWDED;
    for (Py_ssize_t i = search->n_passive; i < search->n_active; i++)
        accumulate(query->cursors + search->order[i], query->norms, low, high, window);
    int n_left = read_more(search, low, high);
    if (window->all)
        memset(window->sums, 0, sizeof window->sums);
    else
        for (int word = 0; word < WINDOW / 64; word++)
            if (window->touched[word])
                memset(window->sums + 64 * word, 0, 64 * sizeof(float));
    if (!all)
        memset(window->touched, 0, sizeof window->touched);
    return take(search, low, n_left);
}

/* The allowed documents of a window are scored one by one. */
static int score_each(Search *search, int64_t low, int64_t high)
{
    for (int64_t doc = low; doc < high; doc++) {
        if (!search->query->allowed[doc])
            continue;
        double score = exact(search->query, doc, search->scoring);
        if (score <= 0 || score < threshold(&search->best))
            continue;
        if (keep(&search->found, doc, score))
            return -1;
        offer(&search->best, score);
    }
    return 0;
}

static int run(Search *search)
{
    Query *query = search->query;
    size_t size = (size_t)query->n_terms * sizeof(Cursor);
    memcpy(search->probing, query->cursors, size);
    memcpy(search->scoring, query->cursors, size);
    int64_t n_few = few(query);
    for (int64_t low = 0; low < query->n_docs && !search->too_many; low += WINDOW) {
        int64_t high = low + WINDOW < query->n_docs ? low + WINDOW : query->n_docs;
        int64_t n_allowed = count_allowed(query, low, high, n_few);
        if (!n_allowed)
            continue;
        float sum = survey(query, low, high, search->order, &search->n_active);
        double limit = threshold(&search->best);
        if (sum == 0 || sum * query->slack < limit)
            continue;
        if (n_allowed <= n_few) {
            if (score_each(search, low, high))
                return -1;
            continue;
        }
        search->passive = 0;
        search->n_passive = 0;
        while (search->n_passive < search->n_active) {
            float more = query->cursors[search->order[search->n_passive]].reach;
            if ((search->passive + more) * query->slack >= limit)
                break;
            search->passive += more;
            search->n_passive++;
        }
        Cursor *last = query->cursors + search->order[search->n_active - 1];
        int alone = search->n_passive == search->n_active - 1 && last->levels && !search->many;
        if (alone ? filter(search, last, low, high) : sum_up(search, low, high))
            return -1;
    }
    return 0;
}

/* ---- the module ---------------------------------------------------------------------------- */

typedef struct {
    PyTypeObject *term_type;
} State;

typedef struct {
    Query query;
    Py_ssize_t *tokens;
    Cursor *cursors;           /* three sets: reading, probing, scoring */
    PyObject *terms;           /* keeps the terms alive while the GIL is released */
    Py_buffer norms, allowed, codes;
    int has_norms, has_allowed, has_codes;
} Request;

static void release(Request *request)
{
    PyMem_Free(request->tokens);
    PyMem_Free(request->cursors);
    PyMem_Free(request->query.parts);
    Py_XDECREF(request->terms);
    if (request->has_norms)
        PyBuffer_Release(&request->norms);
    if (request->has_allowed)
        PyBuffer_Release(&request->allowed);
    if (request->has_codes)
        PyBuffer_Release(&request->codes);
}

static int read_terms(Request *request, State *state, PyObject *idfs)
{
    Query *query = &request->query;
    for (Py_ssize_t t = 0; t < query->n_terms; t++) {
        PyObject *term = PyTuple_GET_ITEM(request->terms, t);
        if (!Py_IS_TYPE(term, state->term_type)) {
            PyErr_SetString(PyExc_TypeError, "a Term expected");
            return -1;
        }
        if (((Term *)term)->n_docs > query->n_docs) {
            PyErr_SetString(PyExc_ValueError, "a term of another generation");
            return -1;
        }
        query->cursors[t].term = (Term *)term;
        query->cursors[t].idf = PyFloat_AsDouble(PyList_GET_ITEM(idfs, t));
        if (PyErr_Occurred())
            return -1;
    }
    return 0;
}

static int read_tokens(Request *request, PyObject *tokens)
{
    Query *query = &request->query;
    for (Py_ssize_t i = 0; i < query->n_tokens; i++) {
        Py_ssize_t t = PyLong_AsSsize_t(PyList_GET_ITEM(tokens, i));
        if (t < 0 || t >= query->n_terms) {
            if (!PyErr_Occurred())
                PyErr_SetString(PyExc_IndexError, "a token without a term");
            return -1;
        }
        request->tokens[i] = t;
        query->cursors[t].weight += (float)query->cursors[t].idf;
    }
    return 0;
}

/* Take the arguments that every search has: terms, idfs, tokens, norms. */
static int prepare(Request *request, State *state, PyObject *terms, PyObject *idfs,
                   PyObject *tokens, PyObject *norms)
{
    Query *query = &request->query;
    memset(request, 0, sizeof *request);
    query->n_terms = PyList_GET_SIZE(terms);
    query->n_tokens = PyList_GET_SIZE(tokens);
    if (PyList_GET_SIZE(idfs) != query->n_terms) {
        PyErr_SetString(PyExc_ValueError, "one idf a term expected");
        return -1;
    }
    Py_ssize_t n_norms;
    query->norms = doubles(&request->norms, norms, &n_norms);
    if (!query->norms)
        return -1;
    request->has_norms = 1;
    query->n_docs = n_norms;
    size_t n = (size_t)(query->n_terms ? query->n_terms : 1);
    request->terms = PyList_AsTuple(terms);
    request->cursors = PyMem_Calloc(3 * n, sizeof(Cursor));
    request->tokens = PyMem_Calloc(query->n_tokens ? (size_t)query->n_tokens : 1,
                                   sizeof(Py_ssize_t));
    query->parts = PyMem_Calloc(n, sizeof(double));
    if (!request->terms || !request->cursors || !request->tokens || !query->parts) {
        PyErr_NoMemory();
        release(request);
        return -1;
    }
    query->cursors = request->cursors;
    query->tokens = request->tokens;
    query->slack = SLACK_BASE + SLACK_PER_TERM * (double)n;
    if (read_terms(request, state, idfs) || read_tokens(request, tokens)) {
        release(request);
        return -1;
    }
    return 0;
}

static int read_allowed(Request *request, PyObject *allowed)
{
    if (PyObject_GetBuffer(allowed, &request->allowed, PyBUF_SIMPLE))
        return -1;
    request->has_allowed = 1;
    if (request->allowed.len != request->query.n_docs)
        return damaged("one byte a document expected of what is allowed");
    request->query.allowed = request->allowed.buf;
    return 0;
}

static int read_codes(Request *request, PyObject *codes)
{
    if (PyObject_GetBuffer(codes, &request->codes, PyBUF_SIMPLE))
        return -1;
    request->has_codes = 1;
    if (request->codes.len != request->query.n_docs)
        return damaged("one code a document expected");
    for (Py_ssize_t t = 0; t < request->query.n_terms; t++)
        request->query.cursors[t].codes = request->codes.buf;
    return 0;
}

/* Give levels to the terms that have been searched before. Needs the GIL, as does marking what was
 * searched: afterwards a level is only read. */
static int take_levels(Query *query)
{
    for (Py_ssize_t t = 0; t < query->n_terms; t++) {
        Term *term = query->cursors[t].term;
        if (term->was_searched && !term->levels && make_levels(term, query->norms))
            return -1;
        query->cursors[t].levels = term->levels;
        query->cursors[t].peaks = term->peaks;
    }
    return 0;
}

static void mark_searched(const Query *query)
{
    for (Py_ssize_t t = 0; t < query->n_terms; t++)
        query->cursors[t].term->was_searched = 1;
}

static PyObject *as_pair(const Found *found, double limit)
{
    Py_ssize_t n = 0;
    for (Py_ssize_t i = 0; i < found->n; i++)
        n += found->scores[i] >= limit;
    PyObject *docs = PyBytes_FromStringAndSize(NULL, n * (Py_ssize_t)sizeof(int64_t));
    PyObject *scores = PyBytes_FromStringAndSize(NULL, n * (Py_ssize_t)sizeof(double));
    if (!docs || !scores) {
        Py_XDECREF(docs);
        Py_XDECREF(scores);
        return NULL;
    }
    char *doc = PyBytes_AS_STRING(docs), *score = PyBytes_AS_STRING(scores);
    for (Py_ssize_t i = 0; i < found->n; i++) {
        if (found->scores[i] < limit)
            continue;
        memcpy(doc, found->docs + i, sizeof(int64_t));
        memcpy(score, found->scores + i, sizeof(double));
        doc += sizeof(int64_t);
        score += sizeof(double);
    }
    return Py_BuildValue("(NN)", docs, scores);
}

PyDoc_STRVAR(top_k_doc,
"top_k(terms, idfs, tokens, norms, k, allowed=None, rest=0.0, codes=None)\n--\n\n"
"Return (docs, scores) as bytes of int64 and double: every document whose score is above 0 and at\n"
"least the k-th best, ties included, in order of document number. allowed: one byte a document, 0\n"
"where it counts as not there; None: all are. rest: so much less than the k-th best is good enough;\n"
"None instead of a pair where a first look does not show the k-th best to be well above it, or too\n"
"many documents are good enough. codes:\n"
"what the function of this name returns for the norms; None: search without.");

static PyObject *top_k(PyObject *module, PyObject *args)
{
    State *state = PyModule_GetState(module);
    PyObject *terms, *idfs, *tokens, *norms, *allowed = Py_None, *codes = Py_None;
    Py_ssize_t k;
    double rest = 0;
    Request request;
    if (!PyArg_ParseTuple(args, "O!O!O!On|OdO", &PyList_Type, &terms, &PyList_Type, &idfs,
                          &PyList_Type, &tokens, &norms, &k, &allowed, &rest, &codes))
        return NULL;
    if (k < 1 || !(rest >= 0)) {
        PyErr_SetString(PyExc_ValueError, "k must be at least 1, rest at least 0");
        return NULL;
    }
    if (prepare(&request, state, terms, idfs, tokens, norms))
        return NULL;
    Query *query = &request.query;
    if ((allowed != Py_None && read_allowed(&request, allowed)) ||
        (codes != Py_None && read_codes(&request, codes)) || take_levels(query)) {
        release(&request);
        return NULL;
    }
    size_t n = (size_t)(query->n_terms ? query->n_terms : 1);
    Search search = {.query = query};
    search.probing = request.cursors + n;
    search.scoring = request.cursors + 2 * n;
    search.best.k = k < query->n_docs ? k : (query->n_docs ? (Py_ssize_t)query->n_docs : 1);
    search.best.scores = malloc((size_t)search.best.k * sizeof(double));
    search.window = calloc(1, sizeof(Window));
    search.left = malloc(sizeof(Left));
    search.order = calloc(n, sizeof(Py_ssize_t));
    int failed = !search.best.scores || !search.window || !search.left || !search.order,
        vague = rest > 0;
    if (!failed && query->n_terms) {
        Py_BEGIN_ALLOW_THREADS
        sample(query, &search.best, search.probing, search.order);
        vague = search.best.floor < WELL_ABOVE * rest;
        search.best.rest = rest;
        search.most = rest > 0 && k < (PY_SSIZE_T_MAX - MANY) / 16 ? MANY + 16 * k : PY_SSIZE_T_MAX;
        failed = !vague && run(&search);
        vague |= search.too_many;
        Py_END_ALLOW_THREADS
    }
    PyObject *result = NULL;
    if (failed) {
        PyErr_NoMemory();
    } else if (vague) {
        result = Py_NewRef(Py_None);
    } else {
        mark_searched(query);
        result = as_pair(&search.found, threshold(&search.best));
    }
    free(search.best.scores);
    free(search.window);
    free(search.left);
    free(search.order);
    free(search.found.docs);
    free(search.found.scores);
    release(&request);
    return result;
}

PyDoc_STRVAR(length_norms_doc,
"length_norms(doc_lens, avg_doc_len, norms)\n--\n\n"
"Put into norms what litstore.index.bm25.length_norms returns, in one sweep.");

static PyObject *length_norms(PyObject *module, PyObject *args)
{
    Py_buffer view, space;
    double mean;
    (void)module;
    if (!PyArg_ParseTuple(args, "y*dw*", &view, &mean, &space))
        return NULL;
    Py_ssize_t n = view.len / (Py_ssize_t)sizeof(uint32_t);
    PyObject *result = NULL;
    if (view.len % (Py_ssize_t)sizeof(uint32_t) || (uintptr_t)view.buf % _Alignof(uint32_t))
        damaged("lengths must be 32-bit numbers");
    else if (space.len != n * (Py_ssize_t)sizeof(double) ||
             (uintptr_t)space.buf % _Alignof(double))
        PyErr_SetString(PyExc_ValueError, "there must be one double for each length");
    else {
        const uint32_t *lens = view.buf;
        double *norms = space.buf;
        for (Py_ssize_t i = 0; i < n; i++)
            norms[i] = (((double)lens[i] * B) / mean + (1 - B)) * K1;
        result = Py_NewRef(Py_None);
    }
    PyBuffer_Release(&view);
    PyBuffer_Release(&space);
    return result;
}

PyDoc_STRVAR(codes_doc,
"codes(norms)\n--\n\n"
"Return one byte for each of the norms, for `top_k`: searching terms that are new is faster so.");

static PyObject *codes(PyObject *module, PyObject *norms_object)
{
    Py_buffer view;
    Py_ssize_t n;
    (void)module;
    const double *norms = doubles(&view, norms_object, &n);
    if (!norms)
        return NULL;
    PyObject *result = PyBytes_FromStringAndSize(NULL, n);
    if (result) {
        uint8_t *out = (uint8_t *)PyBytes_AS_STRING(result);
        for (Py_ssize_t i = 0; i < n; i++)
            out[i] = code_of(norms[i]);
    }
    PyBuffer_Release(&view);
    return result;
}

PyDoc_STRVAR(score_doc,
"score(terms, idfs, tokens, norms, docs)\n--\n\n"
"Return the exact scores of these documents (int64, ascending) as bytes of doubles.");

static PyObject *score(PyObject *module, PyObject *args)
{
    State *state = PyModule_GetState(module);
    PyObject *terms, *idfs, *tokens, *norms;
    Py_buffer docs;
    Request request;
    if (!PyArg_ParseTuple(args, "O!O!O!Oy*", &PyList_Type, &terms, &PyList_Type, &idfs,
                          &PyList_Type, &tokens, &norms, &docs))
        return NULL;
    if (prepare(&request, state, terms, idfs, tokens, norms)) {
        PyBuffer_Release(&docs);
        return NULL;
    }
    Query *query = &request.query;
    Py_ssize_t n = docs.len / (Py_ssize_t)sizeof(int64_t);
    PyObject *scores = PyBytes_FromStringAndSize(NULL, n * (Py_ssize_t)sizeof(double));
    int outside = 0;
    if (scores) {
        char *out = PyBytes_AS_STRING(scores);
        const char *in = docs.buf;
        Py_BEGIN_ALLOW_THREADS
        int64_t previous = -1;
        for (Py_ssize_t i = 0; i < n; i++) {
            int64_t doc;
            memcpy(&doc, in + i * (Py_ssize_t)sizeof doc, sizeof doc);
            if (doc <= previous || doc >= query->n_docs) {
                outside = 1;
                break;
            }
            previous = doc;
            double value = exact(query, doc, query->cursors);
            memcpy(out + i * (Py_ssize_t)sizeof value, &value, sizeof value);
        }
        Py_END_ALLOW_THREADS
    }
    release(&request);
    PyBuffer_Release(&docs);
    if (outside) {
        Py_DECREF(scores);
        PyErr_SetString(PyExc_ValueError, "documents must ascend and be known");
        return NULL;
    }
    return scores;
}

static PyObject *term_tf(Term *self, PyObject *argument)
{
    int64_t doc = PyLong_AsLongLong(argument);
    if (doc == -1 && PyErr_Occurred())
        return NULL;
    Cursor cursor = {.term = self};
    return PyLong_FromLongLong(doc < 0 || doc >= self->n_docs ? 0 : probe(&cursor, doc));
}

static PyObject *term_n_bytes(Term *self, void *unused)
{
    (void)unused;
    return PyLong_FromSsize_t(self->n_bytes);
}

static PyMethodDef term_methods[] = {
    {"tf", (PyCFunction)term_tf, METH_O, "Return the term frequency in one document, or 0."},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef term_properties[] = {
    {"n_bytes", (getter)term_n_bytes, NULL, "bytes held in memory, about", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyType_Slot term_slots[] = {
    {Py_tp_new, term_new},
    {Py_tp_dealloc, term_dealloc},
    {Py_tp_methods, term_methods},
    {Py_tp_getset, term_properties},
    {Py_tp_doc, "The postings of one term, checked and ready to be searched."},
    {0, NULL},
};

static PyType_Spec term_spec = {
    .name = "litstore.index._kernel.Term",
    .basicsize = sizeof(Term),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = term_slots,
};

static int kernel_exec(PyObject *module)
{
    State *state = PyModule_GetState(module);
    fill_coded();
    state->term_type = (PyTypeObject *)PyType_FromModuleAndSpec(module, &term_spec, NULL);
    return state->term_type ? PyModule_AddType(module, state->term_type) : -1;
}

static int kernel_traverse(PyObject *module, visitproc visit, void *arg)
{
    State *state = PyModule_GetState(module);
    Py_VISIT(state->term_type);
    return 0;
}

static int kernel_clear(PyObject *module)
{
    State *state = PyModule_GetState(module);
    Py_CLEAR(state->term_type);
    return 0;
}

static PyMethodDef kernel_methods[] = {
    {"top_k", top_k, METH_VARARGS, top_k_doc},
    {"length_norms", length_norms, METH_VARARGS, length_norms_doc},
    {"codes", codes, METH_O, codes_doc},
    {"score", score, METH_VARARGS, score_doc},
    {NULL, NULL, 0, NULL},
};

static PyModuleDef_Slot kernel_slots[] = {
    {Py_mod_exec, kernel_exec},
    {0, NULL},
};

static struct PyModuleDef kernel_module = {
    PyModuleDef_HEAD_INIT,
    .m_name = "litstore.index._kernel",
    .m_doc = "Exact top-k BM25 over packed postings.",
    .m_size = sizeof(State),
    .m_methods = kernel_methods,
    .m_slots = kernel_slots,
    .m_traverse = kernel_traverse,
    .m_clear = kernel_clear,
};

PyMODINIT_FUNC PyInit__kernel(void)
{
    return PyModuleDef_Init(&kernel_module);
}
