"""Execute the notebooks of the documentation and store their output: `python docs/make_notebooks.py`.

The source of each notebook is here, so that a change is readable. Needs the extra `dev`.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import nbformat
from nbclient import NotebookClient

FOLDER = Path(__file__).parent / "notebooks"
TIMEOUT_S = 600
text, code = nbformat.v4.new_markdown_cell, nbformat.v4.new_code_cell

NOTEBOOKS: dict[str, list[nbformat.NotebookNode]] = {
    "first-steps": [
        text(
            """# First steps
Evaluate a model on rows in memory, look at the result, and compare two models.
Run this notebook with `pip install 'assay-eval[hf]' jupyter`; the [guide](../guides/python.md) explains each step."""
        ),
        code(
            """\
import assay

rows = [
    {"question": "Which planet is closest to the sun?", "A": "Venus", "B": "Mercury", "C": "Mars", "answer": "B"},
    {"question": "How many legs does a spider have?", "A": "Eight", "B": "Six", "C": "Ten", "answer": "A"},
    {"question": "What do bees make?", "A": "Milk", "B": "Silk", "C": "Honey", "answer": "C"},
    {"question": "Which of these is a mammal?", "A": "Shark", "B": "Whale", "C": "Trout", "answer": "B"},
    {"question": "What is frozen water called?", "A": "Ice", "B": "Steam", "C": "Sand", "answer": "A"},
    {"question": "Which gas do plants take in?", "A": "Helium", "B": "Neon", "C": "Carbon dioxide", "answer": "C"},
]

result = assay.run({"science": rows}, model="smollm2", method="ppl", ppl_target="text")
result"""
        ),
        text("""A score is a fraction with its 95 % interval. With six rows, the interval is wide."""),
        code(
            """\
accuracy = result.accuracy
accuracy.value, accuracy.low, accuracy.high, accuracy.n"""
        ),
        text("""Each sample has its prompt, the answer and the right answer."""),
        code(
            """\
sample = result.samples[0]
print(sample.prompt)
print(sample.answer, sample.target, sample.verdict)"""
        ),
        code(
            """\
result.frame("rows")[["question", "ppl_answer", "answer"]]"""
        ),
        text("""Two results are compared sample by sample."""),
        code(
            """\
other = assay.run({"science": rows}, model="mock", method="ppl", ppl_target="text")
other.compare(result)"""
        ),
    ],
    "function-as-model": [
        text(
            """# Your own function as the model
A function that takes a prompt and returns a text is a model: an application, a prompt chain, or the client of a service.
The [guide](../guides/python.md#a-function-as-the-model) lists what functions can take."""
        ),
        code(
            """\
import assay

rows = [
    {"question": f"{a} + {b} =", "answer": str(a + b), "kind": "carry" if a % 10 + b % 10 > 9 else "plain"}
    for a, b in [(12, 7), (8, 5), (31, 28), (46, 27), (50, 14), (39, 3), (22, 22), (18, 4)]
]


def add_without_carry(prompt: str) -> str:
    a, b = (int(word) for word in prompt.rstrip("= \\n").split(" + "))
    return str((a // 10 + b // 10) * 10 + (a + b) % 10)


result = assay.run({"sums": rows}, model=add_without_carry, group_by="kind")
result"""
        ),
        code(
            """\
{kind: result.metric(group=kind).value for kind in ("plain", "carry")}"""
        ),
        text(
            """An exception is a failed sample. It does not count in the score, and `why` names its place."""
        ),
        code(
            """\
async def fragile(prompt: str) -> str:
    if prompt.startswith("8"):
        raise TimeoutError("no reply after 30 s")
    return add_without_carry(prompt)


failed = assay.run({"sums": rows}, model=fragile)
print(failed.accuracy)
print(failed.samples.filter(lambda sample: sample.verdict == "failed")[0].why)"""
        ),
    ],
    "training-loop": [
        text(
            """# Evaluate in a training loop
`model=(model, tokenizer)` evaluates weights that are already in memory, without a copy, and returns the model in the
state in which it was. This notebook trains a tiny model with random weights on a text."""
        ),
        code(
            """\
import assay
import torch
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

torch.manual_seed(0)
facts = "red is a colour . one is a number . blue is a colour . two is a number ."
words = {word: at for at, word in enumerate(dict.fromkeys(["<unk>", "<s>", *facts.split()]))}
tokens = Tokenizer(models.WordLevel(words, unk_token="<unk>"))
tokens.pre_tokenizer = pre_tokenizers.Whitespace()
tokenizer = PreTrainedTokenizerFast(tokenizer_object=tokens, unk_token="<unk>", bos_token="<s>", eos_token="<s>")
config = LlamaConfig(
    vocab_size=len(words), hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=4,
    num_key_value_heads=4, max_position_embeddings=64,
)
model = LlamaForCausalLM(config).train()

rows = [
    {"question": f"{word} is a", "right": right, "wrong": wrong}
    for word, right, wrong in [
        ("red", "colour", "number"), ("blue", "colour", "number"), ("one", "number", "colour"), ("two", "number", "colour"),
    ]
]"""
        ),
        code(
            """\
optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
batch = tokenizer(facts, return_tensors="pt").input_ids

for step in range(41):
    if step % 20 == 0:
        result = assay.run(
            rows, model=(model, tokenizer), method="ppl", ppl_target="text", template="{question}",
            answer_column="right", distractors="wrong", name="facts", progress=False,
        )
        print(step, result.accuracy, model.training)
    loss = model(input_ids=batch, labels=batch).loss
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()"""
        ),
        code(
            """\
result"""
        ),
    ],
}


def build(cells: list[nbformat.NotebookNode]) -> nbformat.NotebookNode:
    """Return a notebook of cells."""
    notebook = nbformat.v4.new_notebook()
    notebook.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3", "language": "python"}
    for number, cell in enumerate(cells):
        cell["id"] = f"cell-{number}"
        notebook.cells.append(cell)
    return notebook


def execute(notebook: nbformat.NotebookNode, folder: Path) -> nbformat.NotebookNode:
    """Execute a notebook in a folder; raise if a cell fails."""
    client = NotebookClient(
        notebook, timeout=TIMEOUT_S, kernel_name="python3", resources={"metadata": {"path": str(folder)}}
    )
    return client.execute()


def main() -> None:
    """Write all notebooks."""
    FOLDER.mkdir(exist_ok=True)
    for name, cells in NOTEBOOKS.items():
        with tempfile.TemporaryDirectory() as folder:
            notebook = execute(build(cells), Path(folder))
        nbformat.write(notebook, FOLDER / f"{name}.ipynb")


if __name__ == "__main__":
    main()
