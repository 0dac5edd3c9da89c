# docker build -t framework .
# docker run -p 4222:4222 framework
# docker run -p 4222:4222 -v ./nats-server.conf:/etc/nats/nats-server.conf framework -c /etc/nats/nats-server.conf
FROM python:3.13-slim AS wheels
RUN apt-get -q update && apt-get -q install -y --no-install-recommends gcc libc6-dev
WORKDIR /source
COPY . .
RUN pip install --quiet --require-hashes -r requirements/build.txt
RUN python tools/wheels.py /wheels

FROM python:3.13-slim
RUN --mount=from=wheels,source=/wheels,target=/wheels \
    pip install --quiet --no-cache-dir --no-index --find-links /wheels 'framework[standard]'
RUN useradd --system --no-create-home nats
USER nats
EXPOSE 4222 6222 8222
ENTRYPOINT ["nats-server"]
CMD ["-m", "8222"]
