import type { Tracing } from '@relay/telemetry';
import { type AttemptResult, classify, type Outcome } from './outcome.js';
import type { DeliveryRequest } from './request.js';

/** Makes the HTTP request of one attempt. */
export abstract class Sender {
  /**
   * Sends the request of one attempt. The promise never rejects: every failure is a result. As soon as the response headers
   * have arrived, the status is the result, even if reading the body fails. If the signal is aborted before, the attempt
   * ends at once as failed.
   */
  abstract send(request: DeliveryRequest, signal?: AbortSignal): Promise<AttemptResult>;

  /** Waits until the running attempts have ended, then closes all connections. Requests that are sent later fail. */
  abstract close(): Promise<void>;
}

/** Records a span for each attempt in the trace of its envelope. The request has this span in its `traceparent` header. */
export class TracedSender extends Sender {
  constructor(
    private readonly sender: Sender,
    private readonly tracing: Tracing,
  ) {
    super();
  }

  async send(request: DeliveryRequest, signal?: AbortSignal): Promise<AttemptResult> {
    const { headers } = request;
    const isTest = headers['relay-test'] !== undefined;
    // A test delivery does not belong to the trace of a source, so it begins a trace of its own.
    const parent = isTest ? undefined : headers['traceparent'];
    const span = this.tracing.start(request.method, 'client', parent, {
      'http.request.method': request.method,
      ...serverOf(request.url),
      'relay.envelope_id': headers['webhook-id'] ?? '',
      'relay.event_type': headers['relay-event-type'] ?? '',
      'relay.webhook_id': request.webhookId,
      'relay.attempt': Number(headers['relay-attempt']),
      ...(isTest ? { 'relay.test': true } : {}),
    });
    const traced = { ...request, headers: { ...headers, traceparent: span.traceparent } };
    const result = await this.sender.send(traced, signal);
    const outcome = classify(result, Date.now());
    const status = outcome.status === undefined ? {} : { 'http.response.status_code': outcome.status };
    span.end({ ...status, 'relay.outcome': outcome.kind }, faultOf(outcome));
    return result;
  }

  close(): Promise<void> {
    return this.sender.close();
  }
}

/**
 * Returns host and port of a URL. Path and query are left out because they may contain a secret that the partner shares with
 * its endpoint.
 */
function serverOf(url: string): Record<string, string | number> {
  const parsed = URL.parse(url);
  if (parsed === null) return {};
  const { hostname, port, protocol } = parsed;
  return { 'server.address': hostname, 'server.port': Number(port) || (protocol === 'http:' ? 80 : 443) };
}

const faultOf = (outcome: Outcome): string | undefined =>
  outcome.kind === 'delivered' ? undefined : outcome.status === undefined ? wordOf(outcome) : String(outcome.status);

const wordOf = (outcome: Outcome): string => (outcome.kind === 'failed' ? (outcome.error ?? 'unknown') : outcome.kind);
