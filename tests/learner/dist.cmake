# What needs more than one process, or the distributed core in double.
if(TARGET comm_mpi)
  add_executable(mpi_comm ${CMAKE_CURRENT_LIST_DIR}/mpi_comm.c)
  target_link_libraries(mpi_comm PRIVATE comm_mpi PkgConfig::cmocka)
  set_target_properties(mpi_comm PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  foreach(n 1 2 3 5 8)
    add_test(NAME learner.comm_mpi_${n} COMMAND ${CMAKE_CURRENT_LIST_DIR}/mpirun.sh ${n}
      $<TARGET_FILE:mpi_comm>)
    set_tests_properties(learner.comm_mpi_${n} PROPERTIES LABELS "mpi;slow" TIMEOUT 120)
  endforeach()
  set_tests_properties(learner.comm_mpi_3 PROPERTIES LABELS "mpi;e2e")
  add_test(NAME learner.comm_mpi_stuck COMMAND ${CMAKE_CURRENT_LIST_DIR}/mpirun.sh 4
    $<TARGET_FILE:mpi_comm> stuck)
  set_tests_properties(learner.comm_mpi_stuck PROPERTIES LABELS "mpi;slow" TIMEOUT 60
    PASS_REGULAR_EXPRESSION "rank 0 named rank 1")
endif()

# The same core in double: identities to 1e-10 and floors of 1e-24.
file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/double/test_*.c)
foreach(source ${sources})
  get_filename_component(stem ${source} NAME_WE)
  string(REGEX REPLACE "^test_" "" file ${stem})
  add_executable(learner.${file} ${source})
  target_link_libraries(learner.${file} PRIVATE dist64 PkgConfig::cmocka)
  set_target_properties(learner.${file} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  add_test(NAME learner.${file} COMMAND learner.${file})
  set_tests_properties(learner.${file} PROPERTIES LABELS fast TIMEOUT 300)
endforeach()
target_link_libraries(learner.comm_zmq PRIVATE PkgConfig::zmq)
foreach(test algo_kill turns)
  target_link_libraries(learner.${test} PRIVATE PkgConfig::zmq)
endforeach()

# Threads at work: under the thread sanitizer too; but for those that talk over libzmq, which is not
# built with it: what orders its queues cannot be seen.
foreach(test algo_adpsgd algo_asysg algo_overlap comm ranks_union)
  set_tests_properties(learner.${test} PROPERTIES LABELS "fast;thread")
endforeach()

# The longer forms of two of them.
add_test(NAME learner.algo_kill_long COMMAND learner.algo_kill)
set_tests_properties(learner.algo_kill_long PROPERTIES LABELS slow TIMEOUT 3600 ENVIRONMENT "DIZHU_KILLS=10")
add_test(NAME learner.ranks_union_long COMMAND learner.ranks_union)
set_tests_properties(learner.ranks_union_long PROPERTIES LABELS slow TIMEOUT 3600
  ENVIRONMENT "DIZHU_UNION=squeeze,d2,allreduce,dpsgd,bytegrad,onebit,qadam")
