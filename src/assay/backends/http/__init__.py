"""HTTP transport for model servers, and the protocols that use it.

Transport:
- `client`, `exchange`, `post`: connections, one call, retries
- `pull`, `concurrency`: how many requests run at once; `open_files`: the system's limit on connections
- `batches`: the batch endpoints of OpenAI and Anthropic
- `event_stream`, `event_loop`, `addresses`, `server_metrics`: streams, uvloop, URLs, `/metrics`
Protocols:
- `infer_server`, `infer_protocol`: UltraEval's model servers (`ultraeval:URL`)
- `generate_server`, `generate_protocols`: TGI and Triton (`tgi:@URL`, `triton:MODEL@URL`)
- `text_protocol`, `request_parts`: shared by the protocols for text
"""
