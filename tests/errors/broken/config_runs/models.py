models = [
    dict(type="VLLMCustomAPIChat", abbr="chat", host_prt=8080, retry="twice"),
    dict(type="TurboMindModel", abbr="turbo", path="org/name"),
]
