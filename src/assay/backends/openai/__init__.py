"""Models behind an OpenAI-compatible server: `openai:MODEL@URL`.

- `backend`: the `Backend`; `timed_client`: the same server measured call by call, for `assay bench`
- `address`, `arguments`: how a model is named, and what can be set
- `protocol`, `reply_reader`, `stream`, `tools`, `message_parts`: request bodies and replies
- `probe`, `tokens`, `scoring`, `likelihood`, `label_probabilities`: log-probabilities, if the server has them
- `thinking`: fields that ask for thoughts; `batch_run`: all requests by batch endpoints
- `model_report`: what `GET /models` says
"""
