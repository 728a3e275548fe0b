"""The yardstick of start-up: a FastAPI application that does nothing.

uvicorn bare:app --port 8000 --no-access-log
"""

from fastapi import FastAPI

app = FastAPI()


@app.get("/health")
async def health() -> dict[str, str]:
    return {}
