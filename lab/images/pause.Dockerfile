FROM scratch
COPY pause /pause
USER 65532:65532
ENTRYPOINT ["/pause"]
