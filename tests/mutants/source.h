/* A C source as tokens: comments and preprocessor lines are none. */
#ifndef MUTANTS_SOURCE_H
#define MUTANTS_SOURCE_H

#include <stdbool.h>
#include <stddef.h>

enum token_kind { TOKEN_WORD, TOKEN_NUMBER, TOKEN_TEXT, TOKEN_SIGN };

struct token {
    enum token_kind kind;
    size_t begin, end; /* in the text */
    int line, column;  /* from 1 */
    int match;         /* of a bracket: the other one; -1: no bracket, or it has none */
};

struct source {
    char *text;
    struct token *tokens;
    int count;
};

struct source *source_new(const char *text);
void source_free(struct source *s);

/* Whether there is a token i and it is that text. */
bool source_is(const struct source *s, int i, const char *text);

/* Whether it is one of the texts, which end with NULL. */
bool source_is_any(const struct source *s, int i, const char *const *texts);

bool source_is_kind(const struct source *s, int i, enum token_kind kind);

/* The text from token first to token last, each run of white space as one blank; to be freed. */
char *source_words(const struct source *s, int first, int last);

/* The same for any text. */
char *squeeze(const char *text, size_t length);

#endif
