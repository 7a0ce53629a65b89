target_link_libraries(engine.positions PRIVATE PkgConfig::jansson)
