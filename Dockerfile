# The binary and the C library that it is linked with, and nothing else: no shell, no package manager, no other user.
# docs/operating.md says how to build and run it.

FROM docker.io/oven/bun:1.4.5 AS build
WORKDIR /app
COPY package.json bun.lock bunfig.toml ./
RUN bun install --frozen-lockfile --production
COPY build.ts tsconfig.json ./
COPY db db
COPY src src
# Git's history is not in here, so the commit is told.
ARG COMMIT=""
RUN bun build.ts --outdir /out --commit "$COMMIT"
# The binary is linked with glibc alone. All files get one time, that of the commit.
ARG SOURCE_DATE_EPOCH=0
RUN mkdir -p /root-fs/usr/local/bin /data \
  && mv /out/tidings /root-fs/usr/local/bin/ \
  && ldd /root-fs/usr/local/bin/tidings | grep -o '/lib[^ ]*' | xargs -I{} cp --parents -L {} /root-fs \
  && chmod -R u=rwX,go=rX /root-fs \
  && find /root-fs /data -exec touch --no-dereference --date="@$SOURCE_DATE_EPOCH" {} +

FROM scratch
COPY --from=build /root-fs /
# A volume that is mounted here for the first time belongs to whom the folder that it covers belongs to.
COPY --from=build --chown=65532:65532 /data /data
ARG COMMIT=""
ARG VERSION=""
LABEL org.opencontainers.image.title="Tidings" \
  org.opencontainers.image.description="Turns what a team ships into posts that its site can read." \
  org.opencontainers.image.licenses="MIT" \
  org.opencontainers.image.version="$VERSION" \
  org.opencontainers.image.revision="$COMMIT"
ENV HOST=0.0.0.0 PORT=3000 DATA_DIR=/data PATH=/usr/local/bin
# JavaScriptCore collects garbage late on a machine with much memory. The size limits nothing: four fifths of it are the point
# from which garbage is collected all the time. Its last compiler (FTL) takes 5 MB and makes nothing faster here. The server
# sets both itself, but then starts a little later.
ENV BUN_JSC_forceRAMSize=536870912 BUN_JSC_useFTLJIT=0 BUN_CONFIG_MAX_HTTP_REQUESTS=1024
WORKDIR /data
VOLUME /data
EXPOSE 3000
# The number, as there is no list of users: it is the one that distroless images call nonroot.
USER 65532:65532
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=30s --timeout=3s --start-period=10s --retries=3 CMD ["tidings", "healthcheck"]
ENTRYPOINT ["tidings"]
CMD ["serve"]
