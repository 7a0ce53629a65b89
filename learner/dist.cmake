# The distributed learner's core: how ranks talk (comm), how blocks shrink (codec), who talks to whom
# (topology), and what is said (algo). One library `dist` of flat-block algorithms, and for the tests
# `dist64`, the same sources in double.
file(GLOB dist_sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/codec/*.c
  ${CMAKE_CURRENT_LIST_DIR}/comm/*.c ${CMAKE_CURRENT_LIST_DIR}/topology/*.c
  ${CMAKE_CURRENT_LIST_DIR}/algo/*.c)
list(FILTER dist_sources EXCLUDE REGEX "comm_(mpi|nccl)[.]c$")
set(dist_libraries base Threads::Threads PkgConfig::zmq m)

find_package(MPI QUIET COMPONENTS C)
add_library(dist STATIC ${dist_sources})
target_link_libraries(dist PUBLIC house ${dist_libraries})
if(DIZHU_TESTS)
  add_library(dist64 STATIC EXCLUDE_FROM_ALL ${dist_sources})
  target_compile_definitions(dist64 PUBLIC DIZHU_REAL64)
  target_link_libraries(dist64 PUBLIC house ${dist_libraries})
endif()

# MPI and NCCL are optional: their transports are libraries of their own.
if(MPI_C_FOUND)
  add_library(comm_mpi STATIC ${CMAKE_CURRENT_LIST_DIR}/comm/comm_mpi.c)
  target_link_libraries(comm_mpi PUBLIC dist MPI::MPI_C)
  target_compile_definitions(comm_mpi PUBLIC DIZHU_MPI)
  message(STATUS "     mpi          ${MPI_C_LIBRARY_VERSION_STRING} ${MPI_C_VERSION}")
else()
  message(STATUS "     mpi          not found: no transport mpi")
endif()

# NCCL sums on GPUs, below it any other transport. The bench takes it where it is.
find_path(NCCL_INCLUDE nccl.h PATHS /usr/local/cuda/include)
find_path(CUDART_INCLUDE cuda_runtime_api.h PATHS /usr/local/cuda/include)
find_library(NCCL_LIBRARY nccl)
find_library(CUDART_LIBRARY cudart PATHS /usr/local/cuda/lib64)
if(NCCL_INCLUDE AND NCCL_LIBRARY AND CUDART_INCLUDE AND CUDART_LIBRARY)
  add_library(comm_nccl STATIC ${CMAKE_CURRENT_LIST_DIR}/comm/comm_nccl.c)
  target_link_libraries(comm_nccl PUBLIC dist ${NCCL_LIBRARY} ${CUDART_LIBRARY})
  target_include_directories(comm_nccl SYSTEM PRIVATE ${NCCL_INCLUDE} ${CUDART_INCLUDE})
  target_compile_definitions(comm_nccl PUBLIC DIZHU_NCCL)
  message(STATUS "     nccl         ${NCCL_LIBRARY}")
else()
  message(STATUS "     nccl         not found: no allreduce on GPUs")
endif()

# The bench of all this, a program of its own: `dizhu bench comm`.
add_executable(dizhu-bench-comm ${CMAKE_CURRENT_LIST_DIR}/bench/bench_comm.c)
target_link_libraries(dizhu-bench-comm PRIVATE $<IF:$<TARGET_EXISTS:comm_mpi>,comm_mpi,dist>
  $<TARGET_NAME_IF_EXISTS:comm_nccl> dist link)
