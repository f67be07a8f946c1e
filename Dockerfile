# erreval as a container, without a shell and as an ordinary user:
#
#   docker build -t erreval .                     CPU
#   docker build -t erreval:cuda --target cuda .  NVIDIA GPUs; run it with --gpus all
#   docker run --rm -v "$PWD:/data" --user "$(id -u):$(id -g)" erreval identify questions.jsonl -o tagged.jsonl
#
# Untried: no container could be built where this was written. Its steps ran outside of one.
FROM golang:1.26-bookworm AS build
WORKDIR /src
# Debian's mirrors keep one version only, so none is named.
# hadolint ignore=DL3008
RUN apt-get update \
    && apt-get install -y --no-install-recommends python3 python3-pip \
    && rm -rf /var/lib/apt/lists/*
COPY go.mod go.sum ./
RUN go mod download
COPY . .
RUN go build -trimpath -buildvcs=false \
    -ldflags "-s -w -X github.com/erreval/erreval/internal/runrecord.stamped=$(scripts/version.sh)" -o /out/erreval ./cmd/erreval
RUN /out/erreval setup --dir /out/cache

FROM build AS build-cuda
RUN /out/erreval setup --cuda --dir /out/cache

# The libraries of CUDA are in the cache; the driver comes from the machine.
FROM gcr.io/distroless/cc-debian12:nonroot AS cuda
COPY --from=build-cuda /out/erreval /usr/local/bin/erreval
COPY --from=build-cuda /out/cache /opt/erreval
ENV ERREVAL_CACHE=/opt/erreval NVIDIA_VISIBLE_DEVICES=all NVIDIA_DRIVER_CAPABILITIES=compute,utility
WORKDIR /data
ENTRYPOINT ["/usr/local/bin/erreval"]
CMD ["--help"]

FROM gcr.io/distroless/cc-debian12:nonroot AS cpu
COPY --from=build /out/erreval /usr/local/bin/erreval
COPY --from=build /out/cache /opt/erreval
ENV ERREVAL_CACHE=/opt/erreval
WORKDIR /data
ENTRYPOINT ["/usr/local/bin/erreval"]
CMD ["--help"]
