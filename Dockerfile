# docker build -t mockvllm . && docker run --rm -p 8000:8000 mockvllm
FROM debian:bookworm-slim AS python
RUN apt-get update && \
    apt-get install --yes --no-install-recommends python3 && \
    rm -rf /var/lib/apt/lists/* /var/cache/apt/* /var/log/apt /var/log/*.log

FROM python AS build
RUN apt-get update && apt-get install --yes --no-install-recommends python3-venv
RUN python3 -m venv /opt/mockvllm
WORKDIR /src
COPY pyproject.toml README.md LICENSE ./
COPY client client
COPY mockvllm mockvllm
ARG EXTRAS=tokenizer,structured,kv-events
# The secret is optional: where packages come from when not from PyPI (docs/docker.md).
RUN --mount=type=secret,id=pip.conf,target=/etc/pip.conf \
    /opt/mockvllm/bin/python -m pip install --no-cache-dir ".[${EXTRAS}]" && \
    /opt/mockvllm/bin/python -m pip uninstall --yes pip setuptools

FROM python
COPY --from=build /opt/mockvllm /opt/mockvllm
ENV PATH=/opt/mockvllm/bin:/usr/local/bin:/usr/bin:/bin PYTHONUNBUFFERED=1
# What the health check asks; another --port, --root-path or TLS needs another one.
ENV HEALTH_URL=http://127.0.0.1:8000/health
# By number, so that Kubernetes' runAsNonRoot can tell.
USER 65532:65532
EXPOSE 8000
HEALTHCHECK --interval=5s --timeout=3s --start-period=3s \
    CMD ["python", "-c", "import os, urllib.request as web; web.urlopen(os.environ['HEALTH_URL'], timeout=2)"]
ENTRYPOINT ["mockvllm", "serve"]
