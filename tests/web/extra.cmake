# The page: its own tests (vitest), its size, and whole games in a browser against the real server and a net.
if(TARGET web)
  add_test(NAME web.unit COMMAND ${NPM} test --silent WORKING_DIRECTORY ${CMAKE_SOURCE_DIR}/web)
  set_tests_properties(web.unit PROPERTIES LABELS fast TIMEOUT 300
    ENVIRONMENT "ENGINE_WASM=${ENGINE_WASM};PATH=${WEB_DIR}-node/node_modules/node/bin:$ENV{PATH}")
  add_test(NAME web.size COMMAND ${NODE} ${CMAKE_SOURCE_DIR}/web/size.mjs ${WEB_DIR})
  set_tests_properties(web.size PROPERTIES LABELS fast)
  if(CHROMIUM)
    foreach(file play line records looks)
      add_test(NAME web.${file}
        COMMAND ${NODE} --test --test-concurrency=1 ${CMAKE_SOURCE_DIR}/tests/e2e-web/${file}.test.mjs)
      set_tests_properties(web.${file} PROPERTIES LABELS browser TIMEOUT 900
        ENVIRONMENT "DIZHU_BUILD=${CMAKE_BINARY_DIR};DIZHU_MODEL=${CMAKE_SOURCE_DIR}/models/douzero-wp.safetensors;CHROMIUM=${CHROMIUM}")
    endforeach()
  endif()
endif()
