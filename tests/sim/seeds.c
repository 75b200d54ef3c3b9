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
    {13, "latches that wait for nobody; an observer told what another leader had proclaimed"},
    {95, "what is proclaimed, not read again when it changes"},
    {361, "a watch on children that is ignored when it fires; an incompatible node that came first "
          "passed by"},
    {289, "an incompatible node that came first passed by, beside an election"},
    {285, "a watch on an absent node that nobody remembers"},
    {288, "a winner's node left when it resigned while it looked at its rivals"},
    {20, "a winner that lets others pass, but stays in line; an observer that trusts an empty list "
         "without a watch on it"},
    {11, "a lock that passes Apache's by"},
    {62, "a transaction told to be applied because another one of the grant was"},
    {441, "a lock that is refused behind Apache's"},
    {1010, "a watch that was confirmed when its waiter had gone, and is kept"},
    {97, "a grant when a deadline came at last, without another look at the own node"},
    {37682, "nothing: a waiter left behind a cut, before its watch was confirmed"},
    {777103316, "nothing: the same at a server that lagged"},
    {29129, "a node of an unknown create, left where the list that was to find it was refused"},
    {10629, "nothing: a proof behind the end of a node that the servers had back since"},
    {70016577, "refused for a version that another transaction of the same grant had used up"},
    {2000101526, "nothing: a deleted node that a restore brought back, when it had been passed by"},
    {3000034872, "nothing: the grant was decided right before its session was proved"},
    {505000081796, "nothing: a report told late, of a node whose name had come again since"},
    {3580, "a second create of one that was let in while the session before was ending"},
    {400027611, "nothing: the world took a change for made that a later leader had not known"},
    {3477, "a deadline from the time of a reconnect, whose handshake was answered late"},
    {77003495, "nothing: a leader told again, when its session had met a server with older data"},
};

const size_t seeds_count = sizeof seeds / sizeof *seeds;

const struct known_seed retain_seeds[] = {
    {1, "nobody behind is seen, so that a tenure is idle while others wait"},
    {7, "the same, where it had begun before they came"},
    {41002087, "nothing: nodes of attempts that had ended, with their deletes under way"},
    {41018036, "nothing: the same, with their creates undecided"},
    {880076264, "a watch on the children, set behind the own node's end, that is kept"},
};

const size_t retain_seeds_count = sizeof retain_seeds / sizeof *retain_seeds;

const struct known_seed member_seeds[] = {
    {5008952,
     "an observer that tells all members as they are read, but not that one has older data"},
    {5000057, "a node set, and deleted, on another connection than that on which it was seen, "
              "behind a restore"},
    {5014326, "a member not read again where the same session was let in behind a restore"},
    {77000584, "a party's member whose node could not be read, and which made another beside it"},
    {870064687, "a member in again, past its deadline, whose node could not be read and was gone"},
};

const size_t member_seeds_count = sizeof member_seeds / sizeof *member_seeds;

const struct known_seed lacking_seeds[] = {
    {870087517, "nothing: a watch that nobody wants, whose removal waits behind a create"},
};

const size_t lacking_seeds_count = sizeof lacking_seeds / sizeof *lacking_seeds;
