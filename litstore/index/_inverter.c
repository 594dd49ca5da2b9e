/* Texts to inverted lists, compiled: the analyzer `plain`, and the counting of its terms. What else
 * numbers very many texts, the ids in lists of references and the terms sent, uses the same table.
 *
 * The same result as litstore/index/inverter.py, item for item. Texts that hold a combining mark, a
 * script without spaces, or a character whose lower case depends on its neighbours are handed to
 * the Python analyzer: what is done here is what needs no tables beyond the interpreter's own.
 *
 * The words as they are written (`surface`) and the terms they become are two tables, so that a
 * stop list or a stemmer is asked once for each distinct word of a batch.
 */

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define LONGEST_UTF8 4
#define STOPPED (-1)

typedef struct {
    uint64_t seed;
    char *bytes;               /* the words, one after the other */
    size_t used, room;
    size_t *ends;              /* where each word ends; it starts where the one before ends */
    int32_t n, n_room;
    uint64_t *slots;           /* open addressing: hash << 32 | number + 1, 0 = free */
    size_t mask;
} Words;

static int words_open(Words *words, uint64_t seed)
{
    memset(words, 0, sizeof *words);
    words->seed = seed;
    words->room = 1 << 16;
    words->n_room = 1 << 12;
    words->mask = (1 << 13) - 1;
    words->bytes = malloc(words->room);
    words->ends = malloc((size_t)words->n_room * sizeof *words->ends);
    words->slots = calloc(words->mask + 1, sizeof *words->slots);
    return words->bytes && words->ends && words->slots ? 0 : -1;
}

static void words_close(Words *words)
{
    free(words->bytes);
    free(words->ends);
    free(words->slots);
}

/* Room for a word of this many bytes behind the last one. */
static inline int words_reserve(Words *words, size_t size)
{
    if (words->room - words->used >= size)
        return 0;
    size_t room = words->room * 2;
    while (room - words->used < size)
        room *= 2;
    char *bytes = realloc(words->bytes, room);
    if (!bytes)
        return -1;
    words->bytes = bytes;
    words->room = room;
    return 0;
}

static inline uint32_t hash_of(const char *bytes, size_t size, uint64_t seed)
{
    uint64_t hash = seed ^ size * 0x9E3779B97F4A7C15u;
    for (; size >= 8; bytes += 8, size -= 8) {
        uint64_t word;
        memcpy(&word, bytes, 8);
        hash = (hash ^ word) * 0x9E3779B97F4A7C15u;
        hash ^= hash >> 32;
    }
    uint64_t tail = 0;
    memcpy(&tail, bytes, size);
    hash = (hash ^ tail) * 0xD6E8FEB86659FD93u;
    hash ^= hash >> 32;
    hash *= 0xD6E8FEB86659FD93u;
    return (uint32_t)(hash >> 32);
}

static int words_grow(Words *words)
{
    if (words->n == words->n_room) {
        if (words->n_room > INT32_MAX / 2)
            return -1;
        int32_t room = words->n_room * 2;
        size_t *ends = realloc(words->ends, (size_t)room * sizeof *ends);
        if (!ends)
            return -1;
        words->ends = ends;
        words->n_room = room;
    }
    if ((size_t)words->n * 2 < words->mask)
        return 0;
    size_t mask = words->mask * 2 + 1;
    uint64_t *slots = calloc(mask + 1, sizeof *slots);
    if (!slots)
        return -1;
    for (size_t old = 0; old <= words->mask; old++) {
        uint64_t slot = words->slots[old];
        if (!slot)
            continue;
        size_t at = (size_t)(slot >> 32) & mask;
        while (slots[at])
            at = (at + 1) & mask;
        slots[at] = slot;
    }
    free(words->slots);
    words->slots = slots;
    words->mask = mask;
    return 0;
}

/* The number of the word that stands, not counted, behind the last one; -1 if it is not known. */
static inline int32_t words_known(const Words *words, size_t size)
{
    const char *word = words->bytes + words->used;
    uint32_t hash = hash_of(word, size, words->seed);
    size_t at = hash & words->mask;
    for (uint64_t slot; (slot = words->slots[at]); at = (at + 1) & words->mask) {
        if (slot >> 32 != hash)
            continue;
        int32_t number = (int32_t)(slot & 0xffffffff);
        size_t start = number > 1 ? words->ends[number - 2] : 0;
        if (words->ends[number - 1] - start == size && !memcmp(words->bytes + start, word, size))
            return number - 1;
    }
    return -1;
}

/* The number of the word that stands, not yet counted, behind the last one; -1 without memory. */
static inline int32_t words_add(Words *words, size_t size)
{
    const char *word = words->bytes + words->used;
    uint32_t hash = hash_of(word, size, words->seed);
    size_t at = hash & words->mask;
    for (uint64_t slot; (slot = words->slots[at]); at = (at + 1) & words->mask) {
        if (slot >> 32 != hash)
            continue;
        int32_t number = (int32_t)(slot & 0xffffffff);
        size_t start = number > 1 ? words->ends[number - 2] : 0;
        if (words->ends[number - 1] - start == size && !memcmp(words->bytes + start, word, size))
            return number - 1;
    }
    words->slots[at] = (uint64_t)hash << 32 | (uint32_t)(words->n + 1);
    words->used += size;
    words->ends[words->n] = words->used;
    words->n++;
    return words_grow(words) ? -1 : words->n - 1;
}

static inline int32_t words_find(Words *words, const char *bytes, size_t size)
{
    if (words_reserve(words, size))
        return -1;
    memcpy(words->bytes + words->used, bytes, size);
    return words_add(words, size);
}

typedef struct {
    Words surface, terms;
    int32_t *term_of;          /* by surface number; unused without `becomes` */
    int32_t term_of_room, n_mapped;
    PyObject *becomes;         /* a word to its term, or to None where it is stopped; NULL: itself */
    struct {
        int32_t text;          /* 1 + the text it was last seen in */
        int32_t at;            /* its entry there */
    } *last;                   /* by term */
    int32_t seen_room;
    int32_t *entry_term, *entry_text, *entry_tf;
    size_t n, room;
} Inverter;

static void inverter_close(Inverter *self)
{
    words_close(&self->surface);
    words_close(&self->terms);
    free(self->term_of);
    free(self->last);
    free(self->entry_term);
    free(self->entry_text);
    free(self->entry_tf);
}

static int no_memory(void)
{
    PyErr_NoMemory();
    return -1;
}

/* The term of a word; STOPPED; or -2 with an exception. */
static int32_t term_of(Inverter *self, int32_t surface)
{
    if (surface < self->n_mapped)
        return self->term_of[surface];
    if (surface >= self->term_of_room) {
        int32_t room = self->surface.n_room;
        int32_t *grown = realloc(self->term_of, (size_t)room * sizeof *grown);
        if (!grown)
            return no_memory() - 1;
        self->term_of = grown;
        self->term_of_room = room;
    }
    size_t start = surface ? self->surface.ends[surface - 1] : 0;
    PyObject *word = PyUnicode_DecodeUTF8(self->surface.bytes + start,
                                          (Py_ssize_t)(self->surface.ends[surface] - start), NULL);
    PyObject *becomes = word ? PyObject_CallOneArg(self->becomes, word) : NULL;
    Py_XDECREF(word);
    if (!becomes)
        return -2;
    int32_t term = STOPPED;
    if (becomes != Py_None) {
        Py_ssize_t size;
        const char *bytes = PyUnicode_AsUTF8AndSize(becomes, &size);
        term = bytes ? words_find(&self->terms, bytes, (size_t)size) : -2;
        if (bytes && term < 0)
            term = no_memory() - 1;
    }
    Py_DECREF(becomes);
    if (term != -2) {
        self->term_of[surface] = term;
        self->n_mapped = surface + 1;
    }
    return term;
}

static int inverter_reserve(Inverter *self, int32_t term)
{
    if (term >= self->seen_room) {
        int32_t room = self->seen_room ? self->seen_room : 1 << 12;
        while (room <= term)
            room = room > INT32_MAX / 2 ? INT32_MAX : room * 2;
        void *last = realloc(self->last, (size_t)room * sizeof *self->last);
        if (!last)
            return no_memory();
        self->last = last;
        memset(self->last + self->seen_room, 0,
               (size_t)(room - self->seen_room) * sizeof *self->last);
        self->seen_room = room;
    }
    if (self->n == self->room) {
        size_t room = self->room ? self->room * 2 : 1 << 14;
        if (room > INT32_MAX)
            return no_memory();
        int32_t **columns[] = {&self->entry_term, &self->entry_text, &self->entry_tf};
        for (int c = 0; c < 3; c++) {
            int32_t *grown = realloc(*columns[c], room * sizeof *grown);
            if (!grown)
                return no_memory();
            *columns[c] = grown;
        }
        self->room = room;
    }
    return 0;
}

/* Count one token of a text: the word that stands behind the last one. 1 if it counts, 0 if it is
 * stopped, -1 with an exception. */
static inline int count(Inverter *self, size_t size, int32_t text)
{
    int32_t term = words_add(&self->surface, size);
    if (term < 0)
        return no_memory();
    if (self->becomes) {
        term = term_of(self, term);
        if (term < 0)
            return term == STOPPED ? 0 : -1;
    }
    if (term >= self->seen_room || self->n == self->room)
        if (inverter_reserve(self, term))
            return -1;
    if (self->last[term].text == text + 1) {
        self->entry_tf[self->last[term].at]++;
    } else {
        self->last[term].text = text + 1;
        self->last[term].at = (int32_t)self->n;
        self->entry_term[self->n] = term;
        self->entry_text[self->n] = text;
        self->entry_tf[self->n] = 1;
        self->n++;
    }
    return 1;
}

static unsigned char ascii_lower[128];   /* 0 where a word ends */

/* Blocks with a combining mark or a script without spaces, and the two letters whose lower case is
 * not one letter whatever stands around them: as in litstore/text/plain.py. */
static inline int needs_python(Py_UCS4 c)
{
    if (c < 0x300)
        return c == 0x130;
    return (c <= 0x36f) || c == 0x3a3 || (c >= 0x483 && c <= 0x489) ||
           (c >= 0x591 && c <= 0x1dff) || (c >= 0x20d0 && c <= 0x20ff) ||
           (c >= 0x2c00 && c <= 0xfaff) || c >= 0xfb1e;
}

static inline size_t put_utf8(char *to, Py_UCS4 c)
{
    if (c < 0x80) {
        to[0] = (char)c;
        return 1;
    }
    if (c < 0x800) {
        to[0] = (char)(0xc0 | c >> 6);
        to[1] = (char)(0x80 | (c & 0x3f));
        return 2;
    }
    to[0] = (char)(0xe0 | c >> 12);
    to[1] = (char)(0x80 | (c >> 6 & 0x3f));
    to[2] = (char)(0x80 | (c & 0x3f));
    return 3;
}

static Py_ssize_t count_ascii(Inverter *self, const Py_UCS1 *in, Py_ssize_t size, int32_t text)
{
    Py_ssize_t tokens = 0;
    Words *words = &self->surface;
    for (Py_ssize_t at = 0; at < size;) {
        if (!ascii_lower[in[at]]) {
            at++;
            continue;
        }
        Py_ssize_t start = at;
        while (at < size && ascii_lower[in[at]])
            at++;
        size_t length = (size_t)(at - start);
        if (words_reserve(words, length))
            return no_memory();
        char *to = words->bytes + words->used;
        for (size_t i = 0; i < length; i++)
            to[i] = (char)ascii_lower[in[start + (Py_ssize_t)i]];
        int counted = count(self, length, text);
        if (counted < 0)
            return -1;
        tokens += counted;
    }
    return tokens;
}

static Py_ssize_t count_any(Inverter *self, int kind, const void *data, Py_ssize_t size,
                            int32_t text)
{
    Py_ssize_t tokens = 0;
    size_t length = 0;
    Words *words = &self->surface;
    for (Py_ssize_t at = 0; at <= size; at++) {
        Py_UCS4 c = at < size ? PyUnicode_READ(kind, data, at) : ' ';
        Py_UCS4 lower = c < 128 ? ascii_lower[c] : Py_UNICODE_ISALNUM(c) ? Py_UNICODE_TOLOWER(c) : 0;
        if (lower) {
            if (words_reserve(words, length + LONGEST_UTF8))
                return no_memory();
            length += put_utf8(words->bytes + words->used + length, lower);
        } else if (length) {
            int counted = count(self, length, text);
            if (counted < 0)
                return -1;
            tokens += counted;
            length = 0;
        }
    }
    return tokens;
}

static Py_ssize_t count_in_python(Inverter *self, PyObject *tokenise, PyObject *content,
                                  int32_t text)
{
    PyObject *tokens = PyObject_CallOneArg(tokenise, content);
    if (!tokens)
        return -1;
    Py_ssize_t counted = 0;
    if (!PyList_Check(tokens)) {
        PyErr_SetString(PyExc_TypeError, "an analyzer gives a list of words");
        counted = -1;
    }
    for (Py_ssize_t i = 0; counted >= 0 && i < PyList_GET_SIZE(tokens); i++) {
        Py_ssize_t size;
        const char *bytes = PyUnicode_AsUTF8AndSize(PyList_GET_ITEM(tokens, i), &size);
        if (!bytes) {
            counted = -1;
            break;
        }
        if (words_reserve(&self->surface, (size_t)size)) {
            counted = no_memory();
            break;
        }
        memcpy(self->surface.bytes + self->surface.used, bytes, (size_t)size);
        int one = count(self, (size_t)size, text);
        counted = one < 0 ? -1 : counted + one;
    }
    Py_DECREF(tokens);
    return counted;
}

static Py_ssize_t count_text(Inverter *self, PyObject *tokenise, PyObject *content, int32_t text)
{
    if (!PyUnicode_Check(content)) {
        PyErr_SetString(PyExc_TypeError, "a text expected");
        return -1;
    }
    Py_ssize_t size = PyUnicode_GET_LENGTH(content);
    if (PyUnicode_IS_ASCII(content))
        return count_ascii(self, PyUnicode_1BYTE_DATA(content), size, text);
    int kind = PyUnicode_KIND(content);
    const void *data = PyUnicode_DATA(content);
    for (Py_ssize_t at = 0; at < size; at++)
        if (needs_python(PyUnicode_READ(kind, data, at)))
            return count_in_python(self, tokenise, content, text);
    return count_any(self, kind, data, size, text);
}

/* The distinct terms, as a list of str. */
static PyObject *vocabulary(const Words *words)
{
    PyObject *list = PyList_New(words->n);
    size_t start = 0;
    for (int32_t i = 0; list && i < words->n; i++) {
        Py_ssize_t size = (Py_ssize_t)(words->ends[i] - start);
        PyObject *word = PyUnicode_DecodeUTF8(words->bytes + start, size, NULL);
        if (!word) {
            Py_DECREF(list);
            return NULL;
        }
        PyList_SET_ITEM(list, i, word);
        start = words->ends[i];
    }
    return list;
}

/* Entries by term, each term's in order of the texts: a counting sort. */
static PyObject *by_term(const Inverter *self, const Words *words, PyObject *doc_lens)
{
    size_t n_terms = (size_t)words->n;
    PyObject *list = vocabulary(words);
    PyObject *starts = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)((n_terms + 1) * 8));
    PyObject *texts = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)(self->n * 4));
    PyObject *tfs = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)(self->n * 4));
    int64_t *next = calloc(n_terms + 1, sizeof *next);
    if (!list || !starts || !texts || !tfs || !next) {
        Py_XDECREF(list);
        Py_XDECREF(starts);
        Py_XDECREF(texts);
        Py_XDECREF(tfs);
        free(next);
        if (!PyErr_Occurred())
            PyErr_NoMemory();
        return NULL;
    }
    for (size_t i = 0; i < self->n; i++)
        next[self->entry_term[i] + 1]++;
    for (size_t t = 0; t < n_terms; t++)
        next[t + 1] += next[t];
    memcpy(PyBytes_AS_STRING(starts), next, (n_terms + 1) * 8);
    int32_t *text = (int32_t *)PyBytes_AS_STRING(texts), *tf = (int32_t *)PyBytes_AS_STRING(tfs);
    for (size_t i = 0; i < self->n; i++) {
        int64_t at = next[self->entry_term[i]]++;
        text[at] = self->entry_text[i];
        tf[at] = self->entry_tf[i];
    }
    free(next);
    Py_INCREF(doc_lens);
    return Py_BuildValue("(NNNNN)", list, starts, texts, tfs, doc_lens);
}

/* The interpreter's own secret: nobody can write texts whose words all collide. */
static int secret(uint64_t *seed)
{
    PyObject *text = PyUnicode_FromString("litstore");
    Py_hash_t hash = text ? PyObject_Hash(text) : -1;
    Py_XDECREF(text);
    *seed = (uint64_t)hash;
    return hash == -1 && PyErr_Occurred() ? -1 : 0;
}

/* Put a text behind the last word, not yet counted; its size, or -1 with an exception. */
static Py_ssize_t words_put(Words *words, PyObject *text)
{
    Py_ssize_t size;
    const char *bytes = PyUnicode_AsUTF8AndSize(text, &size);
    if (!bytes)
        return -1;
    if (words_reserve(words, (size_t)size))
        return no_memory();
    memcpy(words->bytes + words->used, bytes, (size_t)size);
    return size;
}

/* Number the texts of a list; the new ones are appended to `distinct`. */
static int flatten_list(Words *words, PyObject *texts, PyObject *distinct, int32_t *at)
{
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(texts); i++) {
        PyObject *text = PyList_GET_ITEM(texts, i);
        Py_ssize_t size = words_put(words, text);
        if (size < 0)
            return -1;
        int32_t known = words->n, number = words_add(words, (size_t)size);
        if (number < 0)
            return no_memory();
        if (number == known && PyList_Append(distinct, text))
            return -1;
        at[i] = number;
    }
    return 0;
}

PyDoc_STRVAR(flatten_doc,
"flatten(lists)\n--\n\n"
"Return (distinct, sizes, at) of a list of lists of texts, the last two int32 as bytes; see\n"
"litstore.index.inverter.flatten.");

static PyObject *flatten(PyObject *module, PyObject *lists)
{
    Words words;
    uint64_t seed;
    Py_ssize_t n = 0;
    (void)module;
    if (secret(&seed))
        return NULL;
    for (Py_ssize_t i = 0; PyList_Check(lists) && i < PyList_GET_SIZE(lists); i++) {
        PyObject *texts = PyList_GET_ITEM(lists, i);
        n += PyList_Check(texts) ? PyList_GET_SIZE(texts) : INT32_MAX;
        if (n >= INT32_MAX)
            break;
    }
    if (!PyList_Check(lists) || n >= INT32_MAX) {
        PyErr_SetString(PyExc_TypeError, "a list of lists expected, of no more than 2 ** 31 texts");
        return NULL;
    }
    PyObject *distinct = PyList_New(0);
    PyObject *sizes = PyBytes_FromStringAndSize(NULL, PyList_GET_SIZE(lists) * 4);
    PyObject *at = PyBytes_FromStringAndSize(NULL, n * 4);
    int failed = words_open(&words, seed);
    if (failed)
        PyErr_NoMemory();
    failed |= !distinct || !sizes || !at;
    int32_t *next = failed ? NULL : (int32_t *)PyBytes_AS_STRING(at);
    /* Nothing here runs Python code: the lists stay as they were counted. */
    for (Py_ssize_t i = 0; !failed && i < PyList_GET_SIZE(lists); i++) {
        PyObject *texts = PyList_GET_ITEM(lists, i);
        int32_t size = (int32_t)PyList_GET_SIZE(texts);
        memcpy(PyBytes_AS_STRING(sizes) + i * 4, &size, 4);
        failed = flatten_list(&words, texts, distinct, next);
        next += size;
    }
    words_close(&words);
    if (!failed)
        return Py_BuildValue("(NNN)", distinct, sizes, at);
    Py_XDECREF(distinct);
    Py_XDECREF(sizes);
    Py_XDECREF(at);
    return NULL;
}

#define WORDS_NAME "litstore.index.words"

static void words_free(PyObject *capsule)
{
    Words *words = PyCapsule_GetPointer(capsule, WORDS_NAME);
    words_close(words);
    PyMem_Free(words);
}

PyDoc_STRVAR(words_doc,
"words()\n--\n\n"
"Return an empty set of words, for `places`.");

static PyObject *words_new(PyObject *module, PyObject *unused)
{
    uint64_t seed;
    (void)module;
    (void)unused;
    if (secret(&seed))
        return NULL;
    Words *words = PyMem_Malloc(sizeof *words);
    if (!words)
        return PyErr_NoMemory();
    PyObject *capsule = words_open(words, seed) ? PyErr_NoMemory()
                                                : PyCapsule_New(words, WORDS_NAME, words_free);
    if (!capsule) {
        words_close(words);
        PyMem_Free(words);
    }
    return capsule;
}

PyDoc_STRVAR(places_doc,
"places(words, vocabulary, most)\n--\n\n"
"Return (names, places) as litstore.index.sent_terms.SentTerms.pack does. most: words kept.");

static PyObject *places(PyObject *module, PyObject *args)
{
    PyObject *capsule, *vocabulary;
    int most;
    (void)module;
    if (!PyArg_ParseTuple(args, "OO!i", &capsule, &PyList_Type, &vocabulary, &most))
        return NULL;
    Words *words = PyCapsule_GetPointer(capsule, WORDS_NAME);
    if (!words)
        return NULL;
    PyObject *names = PyList_New(0);
    PyObject *found = PyBytes_FromStringAndSize(NULL, PyList_GET_SIZE(vocabulary) * 4);
    int failed = !names || !found;
    for (Py_ssize_t i = 0; !failed && i < PyList_GET_SIZE(vocabulary); i++) {
        PyObject *word = PyList_GET_ITEM(vocabulary, i);
        Py_ssize_t size = words_put(words, word);
        int32_t place = size < 0 ? -1 : words_known(words, (size_t)size);
        if (size >= 0 && place < 0) {
            failed = PyList_Append(names, word);
            if (!failed && words->n < most) {
                place = words_add(words, (size_t)size);
                failed = place < 0 ? no_memory() : 0;
            }
        }
        failed |= size < 0;
        if (!failed)
            memcpy(PyBytes_AS_STRING(found) + i * 4, &place, 4);
    }
    if (!failed)
        return Py_BuildValue("(NN)", names, found);
    Py_XDECREF(names);
    Py_XDECREF(found);
    return NULL;
}

PyDoc_STRVAR(invert_doc,
"invert(texts, tokenise, becomes)\n--\n\n"
"Return (vocabulary, starts, texts, tfs, doc_lens) of a list of texts; see litstore.index.inverter.\n"
"tokenise: the analyzer `plain` in Python. becomes: None, or what makes a word a term.");

static PyObject *invert(PyObject *module, PyObject *args)
{
    PyObject *texts, *tokenise, *becomes;
    (void)module;
    if (!PyArg_ParseTuple(args, "O!OO", &PyList_Type, &texts, &tokenise, &becomes))
        return NULL;
    uint64_t seed;
    if (secret(&seed))
        return NULL;
    Py_ssize_t n = PyList_GET_SIZE(texts);
    if (n >= INT32_MAX) {
        PyErr_SetString(PyExc_OverflowError, "too many texts at once");
        return NULL;
    }
    Inverter self;
    memset(&self, 0, sizeof self);
    self.becomes = becomes == Py_None ? NULL : becomes;
    int failed = words_open(&self.surface, seed) | words_open(&self.terms, seed);
    PyObject *doc_lens = PyBytes_FromStringAndSize(NULL, n * 8);
    if (failed && !PyErr_Occurred())
        PyErr_NoMemory();
    failed |= !doc_lens;
    for (Py_ssize_t i = 0; !failed && i < n; i++) {
        if (i >= PyList_GET_SIZE(texts)) {
            PyErr_SetString(PyExc_RuntimeError, "the list of texts changed");
            failed = 1;
            break;
        }
        PyObject *content = PyList_GET_ITEM(texts, i);
        Py_INCREF(content);
        int64_t tokens = count_text(&self, tokenise, content, (int32_t)i);
        Py_DECREF(content);
        failed = tokens < 0;
        memcpy(PyBytes_AS_STRING(doc_lens) + i * 8, &tokens, 8);
    }
    PyObject *result =
        failed ? NULL : by_term(&self, self.becomes ? &self.terms : &self.surface, doc_lens);
    Py_XDECREF(doc_lens);
    inverter_close(&self);
    return result;
}

static int inverter_exec(PyObject *module)
{
    (void)module;
    for (int c = 0; c < 128; c++)
        ascii_lower[c] = (unsigned char)((c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ? c
                                         : c >= 'A' && c <= 'Z' ? c + 32 : 0);
    return 0;
}

static PyMethodDef inverter_methods[] = {
    {"invert", invert, METH_VARARGS, invert_doc},
    {"flatten", flatten, METH_O, flatten_doc},
    {"words", words_new, METH_NOARGS, words_doc},
    {"places", places, METH_VARARGS, places_doc},
    {NULL, NULL, 0, NULL},
};

static PyModuleDef_Slot inverter_slots[] = {
    {Py_mod_exec, inverter_exec},
    {0, NULL},
};

static struct PyModuleDef inverter_module = {
    PyModuleDef_HEAD_INIT,
    .m_name = "litstore.index._inverter",
    .m_doc = "Texts to inverted lists.",
    .m_size = 0,
    .m_methods = inverter_methods,
    .m_slots = inverter_slots,
};

PyMODINIT_FUNC PyInit__inverter(void)
{
    return PyModuleDef_Init(&inverter_module);
}
