/* ---------------------------------------------------------------------------------------------
 * JSON, as much as a judge sends: a text becomes a list of nodes; children are linked. */

enum { JSON_NULL, JSON_BOOL, JSON_NUMBER, JSON_STRING, JSON_ARRAY, JSON_OBJECT };
enum { JSON_DEPTH = 64, NO_NODE = -1 };

typedef struct {
    int type;
    int child, next;        /* nodes; NO_NODE: none */
    long number;            /* an integer, or -1: none that could matter */
    const char *key;        /* of a member: its text in the input, without the quotes */
    int key_length, length; /* length: of an array */
} JsonNode;

typedef struct {
    const char *at, *end;
    JsonNode *node;
    int n, cap;
} Json;

static void json_space(Json *j) {
    while (j->at < j->end && (*j->at == ' ' || *j->at == '\t' || *j->at == '\n' || *j->at == '\r'))
        j->at++;
}

static int json_new(Json *j, int type) {
    JsonNode *n;
    if (j->n == j->cap) {
        int cap = j->cap ? 2 * j->cap : 4096;
        n = (JsonNode *)realloc(j->node, (size_t)cap * sizeof *n);
        if (!n) return NO_NODE;
        j->node = n;
        j->cap = cap;
    }
    n = &j->node[j->n];
    memset(n, 0, sizeof *n);
    n->type = type;
    n->child = n->next = NO_NODE;
    n->number = -1;
    return j->n++;
}

/* Skips a string; its text without the quotes. */
static int json_string(Json *j, const char **text, int *length) {
    const char *from = ++j->at;
    while (j->at < j->end && *j->at != '"') {
        if (*j->at == '\\' && j->at + 1 < j->end) j->at++;
        j->at++;
    }
    if (j->at >= j->end) return 0;
    *text = from;
    *length = (int)(j->at++ - from);
    return 1;
}

static int json_number(Json *j) {
    int node = json_new(j, JSON_NUMBER), whole = 1, digits = 0;
    long value = 0;
    int negative = *j->at == '-';
    if (negative) j->at++;
    for (; j->at < j->end; j->at++) {
        char c = *j->at;
        if (c >= '0' && c <= '9') {
            digits++;
            if (value < 1000000) value = 10 * value + (c - '0');
        } else if (c == '.' || c == 'e' || c == 'E' || c == '+' || c == '-') {
            whole = 0;
        } else {
            break;
        }
    }
    if (node != NO_NODE && whole && !negative) j->node[node].number = value;
    return digits ? node : NO_NODE;
}

static int json_word(Json *j, const char *word, int type) {
    size_t n = strlen(word);
    if ((size_t)(j->end - j->at) < n || memcmp(j->at, word, n) != 0) return NO_NODE;
    j->at += n;
    return json_new(j, type);
}

static int json_value(Json *j, int depth);

/* The members of an array or object, up to the closing bracket. */
static int json_members(Json *j, int type, char close, int depth) {
    int node = json_new(j, type), last = NO_NODE;
    if (node == NO_NODE || depth > JSON_DEPTH) return NO_NODE;
    j->at++;
    json_space(j);
    if (j->at < j->end && *j->at == close) {
        j->at++;
        return node;
    }
    for (;;) {
        const char *key = NULL;
        int key_length = 0, child;
        json_space(j);
        if (type == JSON_OBJECT) {
            if (j->at >= j->end || *j->at != '"' || !json_string(j, &key, &key_length))
                return NO_NODE;
            json_space(j);
            if (j->at >= j->end || *j->at++ != ':') return NO_NODE;
        }
        child = json_value(j, depth + 1);
        if (child == NO_NODE) return NO_NODE;
        j->node[child].key = key;
        j->node[child].key_length = key_length;
        if (last == NO_NODE) j->node[node].child = child;
        else j->node[last].next = child;
        last = child;
        j->node[node].length++;
        json_space(j);
        if (j->at >= j->end) return NO_NODE;
        if (*j->at == close) {
            j->at++;
            return node;
        }
        if (*j->at++ != ',') return NO_NODE;
    }
}

static int json_value(Json *j, int depth) {
    const char *text;
    int length;
    json_space(j);
    if (j->at >= j->end) return NO_NODE;
    switch (*j->at) {
    case '{': return json_members(j, JSON_OBJECT, '}', depth);
    case '[': return json_members(j, JSON_ARRAY, ']', depth);
    case '"': return json_string(j, &text, &length) ? json_new(j, JSON_STRING) : NO_NODE;
    case 't': return json_word(j, "true", JSON_BOOL);
    case 'f': return json_word(j, "false", JSON_BOOL);
    case 'n': return json_word(j, "null", JSON_NULL);
    default: return json_number(j);
    }
}

static int json_get(const Json *j, int object, const char *key) {
    int c;
    if (object == NO_NODE || j->node[object].type != JSON_OBJECT) return NO_NODE;
    for (c = j->node[object].child; c != NO_NODE; c = j->node[c].next)
        if ((size_t)j->node[c].key_length == strlen(key) &&
            memcmp(j->node[c].key, key, strlen(key)) == 0)
            return c;
    return NO_NODE;
}

static int json_is(const Json *j, int node, int type) {
    return node != NO_NODE && j->node[node].type == type;
}

/* A whole number 0..max, or -1. */
static int json_int(const Json *j, int node, int max) {
    if (!json_is(j, node, JSON_NUMBER)) return -1;
    return j->node[node].number <= max ? (int)j->node[node].number : -1;
}

/* A list of different cards; 0: it is none. */
static int json_cards(const Json *j, int node, Cards *out) {
    int c;
    Cards l;
    l.n = 0;
    if (!json_is(j, node, JSON_ARRAY) || j->node[node].length > 20) return 0;
    for (c = j->node[node].child; c != NO_NODE; c = j->node[c].next) {
        int id = json_int(j, c, N_CARDS - 1);
        if (id < 0 || cards_have(&l, id)) return 0;
        l.id[l.n++] = id;
    }
    *out = l;
    return 1;
}
