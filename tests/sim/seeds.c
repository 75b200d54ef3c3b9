#include "seeds.h"

const struct known_seed seeds[] = {
    {3933, "a deadline from an anchor that the leader was never told of (no relay period)"},
    {131, "a deadline from one answered write"},
    {58, "a deadline without margin for slow clocks"},
    {15, "a deadline on one clock only; a list without the own node taken for a proof"},
    {9, "a grant without proof of the own node after the predecessor went"},
    {12, "a watch that is kept when its waiter has gone"},
    {3, "a node left when the answer to its delete was lost"},
    {120, "a grant kept although it was canceled before it was delivered"},
};

const size_t seeds_count = sizeof seeds / sizeof *seeds;
