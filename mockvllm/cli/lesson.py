"""`mockvllm lesson`: what happens inside, as grids and tables."""

from collections.abc import Sequence

from mockvllm.cli import console, lesson_batching, lesson_blocks, lesson_chunks

app = console.new_app("What happens inside. Without flags each shows the lesson's own case.")
app.command("blocks")(lesson_blocks.blocks)
app.command("batching")(lesson_batching.batching)
app.command("chunks")(lesson_chunks.chunks)


def main(argv: Sequence[str]) -> int:
    return console.run(app, argv, "lesson")
