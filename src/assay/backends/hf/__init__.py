"""Local models through transformers: `hf:FOLDER`, `hf:ORG/NAME`, `hf:FILE.gguf` and the embedded model.

The backend itself:
- `backend`: the `Backend` that combines the files below; `arguments`: its model arguments
- `loading`, `loaded_model`, `device_placement`, `gguf_header`, `embedded_model`: weights into memory
- `weight_options`: quantised weights, several devices, adapters
- `transformers_imports`: what is imported only when it is called
Likelihoods:
- `likelihood`, `row_scoring`: log-probabilities of chosen tokens, each row alone or packed
- `prefix_tree`, `packed_forward`: compute a shared prefix once, pack sequences after it
Attention and kernels:
- `shared_attention`: attention in two parts, over a shared prefix and over a row's own tokens
- `tree_attention`, `step_attention`: the same on a GPU, for packed sequences and for generation steps
- `fused_pieces`, `fused_rotations`, `fused_kernels`: faster forms of a model's norms, rotations, gates and
  projections
- `gpu_kernels`: the kernels; `compiled_programs`, `compile_timing`: where they are kept, and how many
Generation:
- `generation`, `batch_generation`: the decode loop over a batch that stays full
- `slot_cache`, `cache_readers`: key-value caches, with a prefix that all rows share
- `step_graphs`: steps that a GPU replays
- `decoding_trial`: the trial that chooses the fastest correct way
Others:
- `batching`: batches under a token budget; `work_counters`, `device_timing`: tokens and time; `piece_names`:
  token names
- `media_prompts`, `media_generation`: prompts with images and audio
- `sentence_encoder`: small models that compare texts
"""
