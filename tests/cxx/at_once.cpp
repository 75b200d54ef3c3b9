/* All of the program as one translation unit. */
#include "callbacks.cpp"
#include "elections.cpp"
#include "locks.cpp"
#include "losses.cpp"
#include "main.cpp"
#include "observers.cpp"
#include "plain.cpp"
