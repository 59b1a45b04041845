// Exit code 0 while this container's process is ready: for HEALTHCHECK, without curl.
const port = process.env.HEALTH_PORT ?? 3200;
const answer = await fetch(`http://127.0.0.1:${port}/health/ready`, { signal: AbortSignal.timeout(4000) }).catch(
  () => undefined,
);
process.exit(answer?.ok ? 0 : 1);
