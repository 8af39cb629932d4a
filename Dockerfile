# For people who have Docker: docker build -t mcptasks:dev . The image has the same files, user and entrypoint as that of
# "make image", which needs no Docker.
FROM --platform=$BUILDPLATFORM golang:1.26.8-bookworm AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY api/ api/
COPY cmd/ cmd/
COPY internal/ internal/
ARG TARGETOS=linux TARGETARCH=amd64 VERSION=devel
RUN CGO_ENABLED=0 GOOS=$TARGETOS GOARCH=$TARGETARCH go build -trimpath -buildvcs=false \
    -ldflags "-s -w -X github.com/mcptasks/mcptasks/internal/version.version=$VERSION" \
    -o /out/ ./cmd/mcptasks ./cmd/mcptask

FROM scratch
COPY --from=build /out/mcptasks /out/mcptask /usr/local/bin/
USER 65532:65532
ENTRYPOINT ["/usr/local/bin/mcptasks"]
