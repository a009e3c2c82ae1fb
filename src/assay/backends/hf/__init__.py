"""Local models through transformers: `hf:FOLDER`, `hf:ORG/NAME`, `hf:FILE.gguf` and the embedded model.

The backend itself:
- `backend`: the `Backend` that combines the files below; `arguments`: its model arguments
- `loading`, `loaded_model`, `device_placement`, `gguf_header`, `embedded_model`: weights into memory
- `weight_options`: quantised weights, several devices, adapters
- `transformers_imports`: what is imported only when it is called
Likelihoods:
- `likelihood`, `row_scoring`: log-probabilities of chosen tokens, each row alone or packed
- `prefix_tree`, `packed_forward`, `flex_attention`: compute a shared prefix once, pack sequences after it
Generation:
- `generation`, `batch_generation`: the decode loop over a batch that stays full
- `slot_cache`, `cache_readers`, `shared_attention`: key-value caches, with a prefix that all rows share
- `step_graphs`, `step_attention`: steps that a GPU replays, and their attention
- `decoding_trial`: the trial that chooses the fastest correct way
Others:
- `batching`: batches under a token budget; `work_counters`, `device_timing`: tokens and time; `piece_names`:
  token names
- `media_prompts`, `media_generation`: prompts with images and audio
- `sentence_encoder`: small models that compare texts
"""
