# One test counts allocations; those with threads run under the thread sanitizer too.
foreach(function malloc calloc realloc aligned_alloc posix_memalign free)
  target_link_options(learner.no_alloc PRIVATE -Wl,--wrap=${function})
endforeach()
foreach(test buffers inbox step)
  set_tests_properties(learner.${test} PROPERTIES LABELS "fast;thread")
endforeach()
include(${CMAKE_CURRENT_LIST_DIR}/dist.cmake)
