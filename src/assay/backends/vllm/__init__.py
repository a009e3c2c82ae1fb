"""vLLM's offline engine: `vllm:MODEL`.

- `backend`: the `Backend`; `arguments`: its model arguments
- `engine`: the only file that imports vllm; `log_file`: its log
- `token_engine`: the interface of an engine with its own prefix cache, in tokens
- `prefill_jobs`, `engine_queue`: requests as jobs, and their queue
"""
