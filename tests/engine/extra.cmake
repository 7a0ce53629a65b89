target_link_libraries(engine.positions PRIVATE PkgConfig::jansson)

# The same programs at full length.
foreach(name movegen playouts)
  add_test(NAME engine.${name}.slow COMMAND engine.${name} slow)
  set_tests_properties(engine.${name}.slow PROPERTIES LABELS slow TIMEOUT 900)
endforeach()
