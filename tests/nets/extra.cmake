# Weights to and from PyTorch; Debian's python3-torch belongs to Debian's python3.
add_executable(nets.torch_peer ${CMAKE_CURRENT_SOURCE_DIR}/nets/torch_peer.c)
target_link_libraries(nets.torch_peer PRIVATE nets)
set_target_properties(nets.torch_peer PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
find_program(DEBIAN_PYTHON python3 PATHS /usr/bin NO_DEFAULT_PATH)
if(DEBIAN_PYTHON)
  add_test(NAME nets.torch_interop COMMAND ${DEBIAN_PYTHON} -B
    ${CMAKE_CURRENT_SOURCE_DIR}/nets/torch_interop.py $<TARGET_FILE:nets.torch_peer>
    ${CMAKE_SOURCE_DIR}/tools/douzero.py)
  set_tests_properties(nets.torch_interop PROPERTIES LABELS slow SKIP_RETURN_CODE 77)
else()
  message(STATUS "nets.torch_interop is not run: no /usr/bin/python3")
endif()
