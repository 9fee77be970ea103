# A server of plants. Build: docker build --tag soqo . Run: docker compose up (compose.yaml has a database beside it).
FROM python:3.13-slim

WORKDIR /soqo
COPY pyproject.toml constraints.txt README.md LICENSE ./
COPY src ./src
RUN PIP_CONSTRAINT=constraints.txt pip install --no-cache-dir ".[service,opcua]" \
    && useradd --system --create-home --home-dir /data soqo

USER soqo
WORKDIR /data
EXPOSE 8000
# One thread for linear algebra: the matrices are small. Tokens are needed, since the address is not a loopback address.
ENV OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 SOQO_STORE=/data/soqo.sqlite
HEALTHCHECK CMD ["python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:8000/readyz')"]
CMD ["soqo", "serve", "--host", "0.0.0.0"]
