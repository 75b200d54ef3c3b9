/* changing: a grant whose state changes between two looks. It is a program without libzkl, whose
 * functions that it needs are here. */
#include <cstdlib>
#include <zkl/grant.hpp>

namespace
{

int looks;

} // namespace

/* The doubt ends at the second look. */
zkl_state zkl_grant_state(const zkl_grant *)
{
    return ++looks == 1 ? ZKL_SUSPECT : ZKL_HELD;
}

int main()
{
    return zkl::grant_view().owned() ? EXIT_SUCCESS : EXIT_FAILURE;
}
