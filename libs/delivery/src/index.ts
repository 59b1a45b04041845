// Owns one attempt: the delivery's name, the request as docs/partners.md describes it with its signature, the HTTP
// sender, what an answer means, and the gate that keeps each endpoint to its share. Guarantees the same bytes on every
// attempt, no redirects, a total deadline, and that the sender never rejects. Leaves to `retry` what becomes of a
// delivery, to `egress` where may be connected to, and to the worker when.
export { deliveryId, parseDeliveryId, type Delivery } from './delivery.js';
export { Gate } from './gate.js';
export { fairLimits, type Expired, type GateLimits } from './gate-limits.js';
export { HttpSender, type HttpSenderSettings } from './http-sender.adapter.js';
export { classify, type AttemptError, type AttemptResult, type Outcome } from './outcome.js';
export { buildRequest, type Attempt, type DeliveryRequest } from './request.js';
export { Sender } from './sender.port.js';
export { TracedSender } from './traced-sender.js';
export { sign, signatureHeader } from './signature.js';
