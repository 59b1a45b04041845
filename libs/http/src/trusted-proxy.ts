/** Why this TRUST_PROXY lets callers forge their address; undefined when it does not. */
export const proxyWarning = (trusted: boolean | number | string): string | undefined =>
  trusted === true
    ? 'TRUST_PROXY=true trusts the first address of X-Forwarded-For, which the caller writes: limits by network then limit nobody'
    : undefined;
