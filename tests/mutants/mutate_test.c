/* That the sites of a source are those that a reader would name, and that each change is made. */
#include <glib.h>
#include <string.h>

#include "runner.h"
#include "site.h"

TEST_SUITE(mutate);

/* Names of all sites, one a line; the caller frees it. */
static char *names_of(const char *text)
{
    struct source *s = source_new(text);
    GPtrArray *sites = sites_find(s);
    GString *names = g_string_new(NULL);

    for (guint i = 0; i < sites->len; i++) {
        char *name = site_name(sites->pdata[i]);
        g_string_append_printf(names, "%s\n", name);
        g_free(name);
    }
    g_ptr_array_unref(sites);
    source_free(s);
    return g_string_free(names, FALSE);
}

/* The sites of text are exactly those named, one a line. */
static void expect(const char *text, const char *names)
{
    char *found = names_of(text);

    CHECK_STR(found, names);
    g_free(found);
}

/* The text after the change of that name; NULL if there is none. */
static char *changed(const char *text, const char *name)
{
    struct source *s = source_new(text);
    GPtrArray *sites = sites_find(s);
    char *result = NULL;

    for (guint i = 0; i < sites->len; i++) {
        char *other = site_name(sites->pdata[i]);
        if (strcmp(name, other) == 0)
            result = site_apply(s, sites->pdata[i]);
        g_free(other);
    }
    g_ptr_array_unref(sites);
    source_free(s);
    return result;
}

static void expect_change(const char *text, const char *name, const char *after)
{
    char *result = changed(text, name);

    CHECK_STR(result, after);
    g_free(result);
}

TEST_CASE(what_is_no_code)
{
    expect("#define A (1 + 2)\n"
           "#if B == \\\n 2 /* && */\n"
           "#endif\n"
           "/* a == b; */ // f(1)\n"
           "void f(void)\n"
           "{\n"
           "    /* if (a == 1) */\n"
           "    // g(2 + 2);\n"
           "#define C 3 + 3 \\\n"
           "    + 4\n"
           "}\n",
           "");
    expect("const char *f(void) { return \"a == 1 \\\" && /* 2 */\"; }", "");
    expect("char f(void) { return '\"' /* 1 */; } int g(void) { return '\\'' ; }", "");
}

TEST_CASE(what_is_outside_of_functions)
{
    expect("enum { A = 1, B = A + 1 };\n"
           "struct a { int a[2]; };\n"
           "static const int c[3] = {1, 2, 3};\n"
           "int f(int a[2], int b);\n",
           "");
}

TEST_CASE(types_sizes_and_assertions)
{
    expect("void f(void)\n"
           "{\n"
           "    enum { A = 1 };\n"
           "    struct a { int a[2]; } b[3 + 1];\n"
           "    static const char *const c[] = {[A + 1] = \"\"};\n"
           "    assert(a == 1);\n"
           "    g_assert_not_reached();\n"
           "    (void)a;\n"
           "    size_t d = sizeof(b[1]);\n"
           "}\n",
           "");
}

TEST_CASE(initial_values)
{
    expect("void f(void) { int a = 2, b[2] = {0}, *c = d + e; struct s x = {.a = true}; }",
           "1:24 number \"2 -> 3\"\n"
           "1:35 number \"0 -> 1\"\n"
           "1:46 sum \"+ -> -\"\n"
           "1:70 truth \"true -> false\"\n");
}

TEST_CASE(operators)
{
    expect("int f(void) { return a == b; }", "1:24 relation \"== -> !=\"\n");
    expect("int f(void) { return a < b; }",
           "1:24 relation \"< -> <=\"\n1:24 relation \"< -> >\"\n");
    expect("int f(void) { return a > b; }",
           "1:24 relation \"> -> >=\"\n1:24 relation \"> -> <\"\n");
    expect("int f(void) { return a <= b; }", "1:24 relation \"<= -> <\"\n");
    expect("int f(void) { return a >= b; }", "1:24 relation \">= -> >\"\n");
    expect("int f(void) { return a << b; }", "");
    expect("int f(void) { return a->b; }", "");
    expect("int f(void) { return a && !b; }", "1:24 logic \"&& -> ||\"\n1:27 not \"! -> \"\n");
    expect("int f(void) { return a || *b & c; }", "1:24 logic \"|| -> &&\"\n");
}

TEST_CASE(sums_and_signs)
{
    expect("int f(void) { return -a; }", "");
    expect("int f(void) { return b * -a; }", "");
    expect("int f(void) { return b[c] - a; }", "1:27 sum \"- -> +\"\n");
    expect("int f(void) { return g(b) + a; }", "1:27 sum \"+ -> -\"\n");
    expect("int f(void) { return b - -c; }", "1:24 sum \"- -> +\"\n");
}

TEST_CASE(numbers)
{
    expect("int f(void) { return 0; }", "1:22 number \"0 -> 1\"\n");
    expect("int f(void) { return 1; }", "1:22 number \"1 -> 0\"\n");
    expect("int f(void) { return 41L; }", "1:22 number \"41L -> 42L\"\n");
    expect("int f(void) { return 0xffu; }", "1:22 number \"0xffu -> 256u\"\n");
    expect("double f(void) { return 1.5; }", "");
}

TEST_CASE(conditions)
{
    expect("void f(void) { if (a) return; }", "1:20 negation \"a -> !(a)\"\n"
                                              "1:20 condition \"a -> 0\"\n"
                                              "1:20 condition \"a -> 1\"\n"
                                              "1:23 return \"return; -> ;\"\n");
    /* What the change of one operator is already. */
    expect("void f(void) { while (!a) ; }", "1:23 not \"! -> \"\n");
    expect("void f(void) { while (a == b) ; }", "1:25 relation \"== -> !=\"\n");
    expect("void f(void) { while (a < b) ; }", "1:23 negation \"a < b -> !(a < b)\"\n"
                                               "1:25 relation \"< -> <=\"\n"
                                               "1:25 relation \"< -> >\"\n");
    expect("int f(void) { return a(b, c) ? d : e ? g : h; }",
           "1:22 negation \"a(b, c) -> !(a(b, c))\"\n"
           "1:36 negation \"e -> !(e)\"\n");
    expect("void f(void) { do ; while (a(b)); }", "1:28 negation \"a(b) -> !(a(b))\"\n");
}

TEST_CASE(statements)
{
    expect("void f(void) { a(b); c = d; *e = g; h->i += j; }",
           "1:16 statement \"a(b); -> ;\"\n"
           "1:22 statement \"c = d; -> ;\"\n"
           "1:29 statement \"*e = g; -> ;\"\n"
           "1:37 statement \"h->i += j; -> ;\"\n"
           "1:42 sum \"+= -> -=\"\n");
    expect("void f(void) { for (;; i++) { a *b = c; if (d == e) continue; else break; } }",
           "1:25 step \"++ -> --\"\n"
           "1:45 condition \"d == e -> 0\"\n"
           "1:45 condition \"d == e -> 1\"\n"
           "1:47 relation \"== -> !=\"\n"
           "1:53 jump \"continue; -> ;\"\n"
           "1:68 jump \"break; -> ;\"\n");
    expect("int f(void) { goto out; out: return g(h); }", "");
}

TEST_CASE(labels)
{
    const char *text = "void f(void) { switch (a) { case A: case B: return; case C: break;\n"
                       "default: switch (b) { case D: c(); case E: ; } } }";
    expect(text, "1:42 label \"B -> C\"\n"
                 "1:45 return \"return; -> ;\"\n"
                 "1:61 jump \"break; -> ;\"\n"
                 "2:28 label \"D -> E\"\n"
                 "2:31 statement \"c(); -> ;\"\n");
    expect_change("void f(void) { switch (a) { case A: b(); break; case B: ; } }",
                  "1:34 label \"A -> B\"",
                  "void f(void) { switch (a) { case B: b(); break; case A: ; } }");
}

TEST_CASE(changes)
{
    const char *text = "int f(int a)\n{\n    /* a < 1 */\n    if (a < 1 && g(a,\n        2))\n"
                       "        return 1;\n    return !a;\n}\n";
    expect_change(text, "4:11 relation \"< -> <=\"",
                  "int f(int a)\n{\n    /* a < 1 */\n    if (a <= 1 && g(a,\n        2))\n"
                  "        return 1;\n    return !a;\n}\n");
    expect_change(text, "7:12 not \"! -> \"",
                  "int f(int a)\n{\n    /* a < 1 */\n    if (a < 1 && g(a,\n        2))\n"
                  "        return 1;\n    return a;\n}\n");
    /* No line after it moves. */
    expect_change(text, "4:9 condition \"a < 1 && g(a, 2) -> 0\"",
                  "int f(int a)\n{\n    /* a < 1 */\n    if (0\n)\n"
                  "        return 1;\n    return !a;\n}\n");
    CHECK(changed(text, "4:9 condition \"a < 1 -> 0\"") == NULL);
}

TEST_CASE(lines)
{
    struct source *s = source_new("void f(void)\n{\n    a(b,\n      1);  c();\n}\n");
    GPtrArray *sites = sites_find(s);
    char *before, *after;

    REQUIRE(sites->len == 3);
    const struct site *site = sites->pdata[0];
    site_lines(s, site, &before, &after);
    CHECK_STR(before, "a(b, 1); c();");
    CHECK_STR(after, "; c();");
    CHECK_STR(site->function, "f");
    g_free(before);
    g_free(after);
    g_ptr_array_unref(sites);
    source_free(s);
}

/* Each change is another text, and the same one every time. */
TEST_CASE(names_are_stable)
{
    const char *text = "static int f(struct a *a, int b)\n{\n    if (!a || a->b < b)\n"
                       "        return 0;\n    for (int i = 0; i < a->c; i++) {\n"
                       "        a->d[i] += b - 7;\n        while (g(a, i) && i > 3)\n"
                       "            b--;\n        a->e = b == 3 ? true : a->f;\n    }\n"
                       "    return b;\n}\n";
    GHashTable *seen = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    struct source *s = source_new(text);
    GPtrArray *sites = sites_find(s);
    char *once = names_of(text), *again = names_of(text);

    CHECK_STR(once, again);
    CHECK_INT(sites->len, 27);
    for (guint i = 0; i < sites->len; i++) {
        char *after = site_apply(s, sites->pdata[i]);
        CHECK(strcmp(after, text) != 0);
        CHECK(g_hash_table_add(seen, after));
    }
    g_free(once);
    g_free(again);
    g_ptr_array_unref(sites);
    source_free(s);
    g_hash_table_unref(seen);
}

int main(int argc, char **argv)
{
    return runner_main(argc, argv);
}
