// Made from docs/openapi.json by @hey-api/openapi-ts: `npx node scripts/docs.mjs` makes it anew. Do not edit.
// of document e7a70fee3dd95826d7bf53f4f16bd1959ed95d3bc90a25a40b52e60a5ebe7e67
// as content 6182d26918613f71f0fc194398fed24e4fc3885b74327296eccca5b61760a20c

export type ClientOptions = {
    baseUrl: 'https://relay.example' | (string & {});
};

export type Webhooks = ReceiveTaskCreatedWebhookRequest | ReceiveTaskUpdatedWebhookRequest | ReceiveTaskDeletedWebhookRequest | ReceiveRecommendationCreatedWebhookRequest | ReceiveRecommendationUpdatedWebhookRequest | ReceiveRecommendationDeletedWebhookRequest | ReceivePlanCreatedWebhookRequest | ReceivePlanUpdatedWebhookRequest | ReceivePlanCompletedWebhookRequest | ReceiveMessageCreatedWebhookRequest | ReceiveNotificationCompletedWebhookRequest | ReceiveTaxReturnCreatedWebhookRequest | ReceiveTaxReturnUpdatedWebhookRequest | ReceiveTaxReturnFiledWebhookRequest;

/**
 * An access token.
 */
export type AccessToken = {
    /**
     * A JWT of RFC 9068; to be sent as it is.
     */
    access_token: string;
    token_type: 'bearer';
    /**
     * Seconds.
     */
    expires_in: number;
    /**
     * What it may be used for, apart by a space.
     */
    scope: string;
};

/**
 * A call of the endpoint.
 */
export type Attempt = {
    /**
     * When it began.
     */
    at: string;
    durationMs: number;
    /**
     * What the endpoint answered, if it did.
     */
    status?: number;
    /**
     * Kind of failure, if it did not.
     */
    error?: string;
    /**
     * What went wrong, in words.
     */
    detail?: string;
};

/**
 * One result for each envelope, in the order sent.
 */
export type BatchAnswer = {
    results: Array<BatchResult>;
};

/**
 * What became of one envelope of a batch.
 */
export type BatchResult = {
    /**
     * Null where none could be read.
     */
    id: string | null;
    /**
     * `conflict`: the id has other content. `unavailable`: send it again, it may be stored.
     */
    status: 'accepted' | 'duplicate' | 'conflict' | 'invalid' | 'unavailable';
    errors?: Array<{
        pointer: string;
        detail: string;
    }>;
};

/**
 * A CloudEvent 1.0 in structured mode. Its `data` becomes the payload; further attributes are not kept.
 */
export type CloudEvent = {
    specversion: '1.0';
    /**
     * It becomes the id of the envelope.
     */
    id: string;
    /**
     * Where the event is from. It is not kept: the relay names itself and the sender.
     */
    source: string;
    /**
     * It becomes the type of the envelope.
     */
    type: 'task.created' | 'task.updated' | 'task.deleted' | 'recommendation.created' | 'recommendation.updated' | 'recommendation.deleted' | 'plan.created' | 'plan.updated' | 'plan.completed' | 'message.created' | 'notification.completed' | 'tax_return.created' | 'tax_return.updated' | 'tax_return.filed';
    datacontenttype?: string;
    /**
     * The payload.
     */
    data: {
        [key: string]: unknown;
    };
    [key: string]: unknown;
};

export type Deliveries = {
    deliveries: Array<Delivery>;
};

/**
 * An envelope on its way to a webhook, or one more time on it by a replay.
 */
export type Delivery = {
    /**
     * What comes as `webhook-id`.
     */
    envelopeId: string;
    webhookId: string;
    /**
     * `waiting`: attempted again by the schedule, or for the first time when its endpoint has room; `dead`: given up, `retry` begins anew.
     */
    status: 'delivered' | 'waiting' | 'dead';
    /**
     * When it was delivered or given up, or its last attempt; when it was accepted, if there was none.
     */
    at: string;
    /**
     * Of one that waits; `null` where it is due now.
     */
    nextAttemptAt: string | null;
    /**
     * Why it was given up.
     */
    reason: string | null;
    /**
     * All that are known, oldest first, those before a retry of a dead one included.
     */
    attempts: Array<Attempt>;
};

/**
 * A webhook delivery: the first part of its type names what the payload is about.
 */
export type Envelope = TaskEnvelope | OtherEnvelope;

/**
 * What the relay knows of a token (RFC 7662).
 */
export type Introspection = {
    /**
     * Whether the relay would take the token now.
     */
    active: boolean;
    scope?: string;
    client_id?: string;
    token_type?: 'bearer';
    /**
     * When it ends, Unix seconds.
     */
    exp?: number;
    /**
     * When it was issued, Unix seconds.
     */
    iat?: number;
    sub?: string;
    aud?: string;
    iss?: string;
    jti?: string;
};

/**
 * A JWK Set (RFC 7517).
 */
export type Jwks = {
    keys: Array<{
        kty: 'EC';
        crv: 'P-256';
        x: string;
        y: string;
        kid: string;
        use: 'sig';
        alg: 'ES256';
        [key: string]: unknown;
    }>;
};

/**
 * An error of RFC 6749 section 5.2.
 */
export type OAuthError = {
    error: 'invalid_client' | 'invalid_request' | 'invalid_scope' | 'unsupported_grant_type' | 'temporarily_unavailable';
    /**
     * For the developer of the client.
     */
    error_description: string;
};

/**
 * A delivery about any other subject.
 */
export type OtherEnvelope = {
    /**
     * Identifier of the delivery; the same id with the same content is delivered once.
     */
    id: string;
    /**
     * Event type, in the form <subject>.<action>; it names the Kafka topic.
     */
    type: 'recommendation.created' | 'recommendation.updated' | 'recommendation.deleted' | 'plan.created' | 'plan.updated' | 'plan.completed' | 'message.created' | 'notification.completed' | 'tax_return.created' | 'tax_return.updated' | 'tax_return.filed';
    /**
     * Depends on the subject; passes unchanged.
     */
    payload: {
        [key: string]: unknown;
    };
};

/**
 * An error (RFC 9457).
 */
export type Problem = {
    /**
     * Ends in `#` and a code; match on this.
     */
    type: string;
    /**
     * Short words, the same for every occurrence.
     */
    title: string;
    /**
     * The HTTP status.
     */
    status: number;
    /**
     * What is wrong this time, for a person.
     */
    detail: string;
    /**
     * Path of the request.
     */
    instance: string;
    /**
     * As in the header `x-request-id`; name it when you ask us.
     */
    requestId: string;
    /**
     * Each invalid member of the body.
     */
    errors?: Array<{
        /**
         * JSON pointer (RFC 6901) into the body; empty for the body as a whole.
         */
        pointer: string;
        /**
         * What is expected there.
         */
        detail: string;
    }>;
    /**
     * With 409: what is there already.
     */
    id?: string;
    /**
     * With 409: what the request could mean.
     */
    ids?: Array<string>;
    [key: string]: unknown;
};

/**
 * The log has the envelope.
 */
export type Receipt = {
    /**
     * The envelope's id, in lower case.
     */
    id: string;
    type: 'task.created' | 'task.updated' | 'task.deleted' | 'recommendation.created' | 'recommendation.updated' | 'recommendation.deleted' | 'plan.created' | 'plan.updated' | 'plan.completed' | 'message.created' | 'notification.completed' | 'tax_return.created' | 'tax_return.updated' | 'tax_return.filed';
    /**
     * Stored now, or known with the same content already.
     */
    status: 'accepted' | 'duplicate';
};

/**
 * Deliveries made again, and how far that is.
 */
export type Replay = {
    /**
     * `null` after a dry run: nothing was ordered.
     */
    id: string | null;
    webhookId: string;
    status: 'all' | 'failed';
    since: string | null;
    until: string | null;
    /**
     * `paused`: by an operator.
     */
    state: 'dry-run' | 'running' | 'paused' | 'done' | 'cancelled';
    /**
     * Deliveries of it; while it runs, what was not looked at yet counts as such. After a dry run so many at most.
     */
    matched: number;
    /**
     * Delivered; with `status: failed` on its way again.
     */
    done: number;
    /**
     * Not delivered at once: repeated by the retry schedule, or dead letters; with `status: failed` still dead.
     */
    failed: number;
    /**
     * Since it was ordered.
     */
    ratePerSecond: number;
    /**
     * At that rate; `null` while there is none.
     */
    secondsLeft: number | null;
    createdAt: string;
    endedAt: string | null;
};

/**
 * Which envelopes are to be delivered again. No member is required.
 */
export type ReplayRequest = {
    /**
     * Envelopes accepted at this time or later; all that the log keeps without.
     */
    since?: string;
    /**
     * Envelopes accepted before this time; until now without.
     */
    until?: string;
    /**
     * `all`: whatever became of them the first time; `failed`: those that are dead letters, which go with it.
     */
    status?: 'all' | 'failed';
    /**
     * Only count what would be delivered.
     */
    dryRun?: boolean;
};

export type RetryAnswer = {
    /**
     * Deliveries that are due now; each is attempted when its endpoint has room.
     */
    retried: number;
};

/**
 * Which deliveries are to be tried now. No member is required.
 */
export type RetryRequest = {
    /**
     * Only to this webhook; to all of yours without.
     */
    webhookId?: string;
};

/**
 * OAuth 2.0 authorization server metadata (RFC 8414).
 */
export type ServerMetadata = {
    issuer: string;
    token_endpoint: string;
    token_endpoint_auth_methods_supported: Array<string>;
    revocation_endpoint: string;
    revocation_endpoint_auth_methods_supported: Array<string>;
    introspection_endpoint: string;
    introspection_endpoint_auth_methods_supported: Array<string>;
    grant_types_supported: Array<string>;
    /**
     * None: there is no authorization endpoint.
     */
    response_types_supported: Array<string>;
    scopes_supported: Array<string>;
    jwks_uri: string;
    service_documentation: string;
};

/**
 * A session that has not ended.
 */
export type Session = {
    /**
     * Opaque; 256 random bits. Whoever has it and a token of yours can read and end the session.
     */
    sessionId: string;
    /**
     * The user, in lower case.
     */
    userId: string;
    /**
     * When the session ends by itself.
     */
    expiresAt: string;
};

/**
 * A new session of the user named in the path.
 */
export type SessionReference = {
    /**
     * Opaque; 256 random bits. Whoever has it and a token of yours can read and end the session.
     */
    sessionId: string;
};

/**
 * What deliveries to this webhook are signed with.
 */
export type SigningSecret = {
    /**
     * `whsec_` and 32 random bytes in base64, as Standard Webhooks has it.
     */
    secret: string;
};

/**
 * A delivery about a task.
 */
export type TaskEnvelope = {
    /**
     * Identifier of the delivery; the same id with the same content is delivered once.
     */
    id: string;
    /**
     * Event type, in the form <subject>.<action>; it names the Kafka topic.
     */
    type: 'task.created' | 'task.updated' | 'task.deleted';
    payload: TaskPayload;
};

/**
 * Payload of the task events. Further fields pass unchanged.
 */
export type TaskPayload = {
    /**
     * Identifier of the task.
     */
    id: string;
    /**
     * Identifier of the user whose task it is.
     */
    userId: string;
    /**
     * Identifier of the financial plan the task belongs to.
     */
    financialPlanId: string;
    [key: string]: unknown;
};

/**
 * The one attempt of a test delivery.
 */
export type TestResult = {
    /**
     * What came as `webhook-id`; nothing else in the relay knows it.
     */
    envelopeId: string;
    /**
     * Whether the endpoint answered 2xx.
     */
    delivered: boolean;
    /**
     * What it answered.
     */
    status?: number;
    /**
     * Kind of failure, if it did not answer.
     */
    error?: string;
    /**
     * What went wrong, in words.
     */
    detail?: string;
    durationMs: number;
};

/**
 * One token, form-encoded.
 */
export type TokenForm = {
    /**
     * The access token.
     */
    token: string;
    /**
     * Not needed: there are access tokens only.
     */
    token_type_hint?: string;
};

/**
 * What a token request may say beside its client.
 */
export type TokenRequest = {
    /**
     * The only grant there is.
     */
    grant_type?: string;
    /**
     * Scopes of the client, apart by a space; left out: all of them.
     */
    scope?: string;
};

/**
 * A registration as the list operation returns it.
 */
export type Webhook = {
    id: string;
    /**
     * Event type of interest.
     */
    eventType: 'task.created' | 'task.updated' | 'task.deleted' | 'recommendation.created' | 'recommendation.updated' | 'recommendation.deleted' | 'plan.created' | 'plan.updated' | 'plan.completed' | 'message.created' | 'notification.completed' | 'tax_return.created' | 'tax_return.updated' | 'tax_return.filed';
    endPointUrl: string;
    endPointDesc: string | null;
    endPointName: string | null;
};

/**
 * The webhook to delete: by id, or the only one of its event type.
 */
export type WebhookDeletion = {
    /**
     * Event type of interest.
     */
    eventType: 'task.created' | 'task.updated' | 'task.deleted' | 'recommendation.created' | 'recommendation.updated' | 'recommendation.deleted' | 'plan.created' | 'plan.updated' | 'plan.completed' | 'message.created' | 'notification.completed' | 'tax_return.created' | 'tax_return.updated' | 'tax_return.filed';
    /**
     * Identifier of the webhook, in either letter case.
     */
    id?: string;
};

/**
 * A registration with its state.
 */
export type WebhookDetails = {
    id: string;
    /**
     * Event type of interest.
     */
    eventType: 'task.created' | 'task.updated' | 'task.deleted' | 'recommendation.created' | 'recommendation.updated' | 'recommendation.deleted' | 'plan.created' | 'plan.updated' | 'plan.completed' | 'message.created' | 'notification.completed' | 'tax_return.created' | 'tax_return.updated' | 'tax_return.filed';
    endPointUrl: string;
    endPointDesc: string | null;
    endPointName: string | null;
    /**
     * `parked`, `disabled`: nothing is dropped, it waits.
     */
    status: 'active' | 'parked' | 'disabled';
    /**
     * `gone`: the endpoint answered 410; `failing`: five days of nothing but failures; `unverified`: the operator wants a test delivery answered 2xx first; `operator`: an operator disabled it.
     */
    disabledReason: string | null;
    /**
     * Deliveries in the queue. A parked webhook has more in the log.
     */
    waiting: number;
    createdAt: string;
    updatedAt: string;
    /**
     * Which credential the endpoint gets; never its value.
     */
    credentialType: 'apiKey' | 'jwt' | 'basic';
};

export type WebhookInput = unknown & {
    /**
     * Event type of interest.
     */
    eventType: 'task.created' | 'task.updated' | 'task.deleted' | 'recommendation.created' | 'recommendation.updated' | 'recommendation.deleted' | 'plan.created' | 'plan.updated' | 'plan.completed' | 'message.created' | 'notification.completed' | 'tax_return.created' | 'tax_return.updated' | 'tax_return.filed';
    /**
     * https address that receives the deliveries; at most 2048 characters, also percent-encoded.
     */
    endPointUrl: string;
    /**
     * Description of the endpoint; at most 3000 bytes as JSON in UTF-8.
     */
    endPointDesc?: string | null;
    /**
     * Name of the endpoint; at most 600 bytes as JSON in UTF-8.
     */
    endPointName?: string | null;
    /**
     * Sent to the endpoint as `x-api-key`.
     */
    apiKey?: string;
    /**
     * Sent to the endpoint as `authorization: Bearer`.
     */
    jwt?: string;
    /**
     * Sent to the endpoint by HTTP Basic, with `password`; together at most 4096 bytes of UTF-8.
     */
    userName?: string;
    /**
     * Goes with `userName`; together at most 4096 bytes of UTF-8.
     */
    password?: string;
};

export type WebhookListing = unknown & {
    /**
     * Sent to the endpoint as `x-api-key`.
     */
    apiKey?: string;
    /**
     * Sent to the endpoint as `authorization: Bearer`.
     */
    jwt?: string;
    /**
     * Sent to the endpoint by HTTP Basic, with `password`; together at most 4096 bytes of UTF-8.
     */
    userName?: string;
    /**
     * Goes with `userName`; together at most 4096 bytes of UTF-8.
     */
    password?: string;
};

export type WebhookPatch = unknown & {
    /**
     * https address that receives the deliveries; at most 2048 characters, also percent-encoded.
     */
    endPointUrl?: string;
    /**
     * Description of the endpoint; at most 3000 bytes as JSON in UTF-8.
     */
    endPointDesc?: string | null;
    /**
     * Name of the endpoint; at most 600 bytes as JSON in UTF-8.
     */
    endPointName?: string | null;
    /**
     * Sent to the endpoint as `x-api-key`.
     */
    apiKey?: string;
    /**
     * Sent to the endpoint as `authorization: Bearer`.
     */
    jwt?: string;
    /**
     * Sent to the endpoint by HTTP Basic, with `password`; together at most 4096 bytes of UTF-8.
     */
    userName?: string;
    /**
     * Goes with `userName`; together at most 4096 bytes of UTF-8.
     */
    password?: string;
};

/**
 * The webhook that was registered, updated or deleted.
 */
export type WebhookReference = {
    /**
     * Identifier of the webhook.
     */
    id: string;
};

export type WebhookUpdate = unknown & {
    /**
     * Event type of interest.
     */
    eventType: 'task.created' | 'task.updated' | 'task.deleted' | 'recommendation.created' | 'recommendation.updated' | 'recommendation.deleted' | 'plan.created' | 'plan.updated' | 'plan.completed' | 'message.created' | 'notification.completed' | 'tax_return.created' | 'tax_return.updated' | 'tax_return.filed';
    /**
     * https address that receives the deliveries; at most 2048 characters, also percent-encoded.
     */
    endPointUrl: string;
    /**
     * Description of the endpoint; at most 3000 bytes as JSON in UTF-8.
     */
    endPointDesc?: string | null;
    /**
     * Name of the endpoint; at most 600 bytes as JSON in UTF-8.
     */
    endPointName?: string | null;
    /**
     * Sent to the endpoint as `x-api-key`.
     */
    apiKey?: string;
    /**
     * Sent to the endpoint as `authorization: Bearer`.
     */
    jwt?: string;
    /**
     * Sent to the endpoint by HTTP Basic, with `password`; together at most 4096 bytes of UTF-8.
     */
    userName?: string;
    /**
     * Goes with `userName`; together at most 4096 bytes of UTF-8.
     */
    password?: string;
    /**
     * Identifier of the webhook, in either letter case.
     */
    id?: string;
};

export type ReadKeysData = {
    body?: never;
    path?: never;
    query?: never;
    url: '/.well-known/jwks.json';
};

export type ReadKeysErrors = {
    /**
     * `malformed-json`: The body is no JSON text as RFC 8259 has it, or it has invalid UTF-8, a name twice in one object, half a surrogate pair, or more than 32 levels. `errors` says where.
     *
     * `invalid-body`: The body is JSON but not what this operation takes. `errors` names each member by its JSON pointer.
     *
     * `invalid-request`: The address, a query parameter, a header or the framing of the request is wrong; `detail` says which.
     */
    400: Problem;
    /**
     * `request-timeout`: The request did not arrive in time. Repeat it.
     */
    408: Problem;
    /**
     * `unsupported-media-type`: The `Content-Type` is not one this path takes, or the body comes with a `Content-Encoding`.
     */
    415: Problem;
    /**
     * `headers-too-large`: The request line and headers together are longer than 16 KiB.
     */
    431: Problem;
    /**
     * `internal`: A fault of the relay. Tell us the `requestId`.
     */
    500: Problem;
};

export type ReadKeysError = ReadKeysErrors[keyof ReadKeysErrors];

export type ReadKeysResponses = {
    /**
     * The public keys.
     */
    200: Jwks;
};

export type ReadKeysResponse = ReadKeysResponses[keyof ReadKeysResponses];

export type ReadServerMetadataData = {
    body?: never;
    path?: never;
    query?: never;
    url: '/.well-known/oauth-authorization-server';
};

export type ReadServerMetadataErrors = {
    /**
     * `malformed-json`: The body is no JSON text as RFC 8259 has it, or it has invalid UTF-8, a name twice in one object, half a surrogate pair, or more than 32 levels. `errors` says where.
     *
     * `invalid-body`: The body is JSON but not what this operation takes. `errors` names each member by its JSON pointer.
     *
     * `invalid-request`: The address, a query parameter, a header or the framing of the request is wrong; `detail` says which.
     */
    400: Problem;
    /**
     * `request-timeout`: The request did not arrive in time. Repeat it.
     */
    408: Problem;
    /**
     * `unsupported-media-type`: The `Content-Type` is not one this path takes, or the body comes with a `Content-Encoding`.
     */
    415: Problem;
    /**
     * `headers-too-large`: The request line and headers together are longer than 16 KiB.
     */
    431: Problem;
    /**
     * `internal`: A fault of the relay. Tell us the `requestId`.
     */
    500: Problem;
};

export type ReadServerMetadataError = ReadServerMetadataErrors[keyof ReadServerMetadataErrors];

export type ReadServerMetadataResponses = {
    /**
     * The metadata.
     */
    200: ServerMetadata;
};

export type ReadServerMetadataResponse = ReadServerMetadataResponses[keyof ReadServerMetadataResponses];

export type ReadAsyncApiData = {
    body?: never;
    path?: never;
    query?: never;
    url: '/asyncapi.json';
};

export type ReadAsyncApiErrors = {
    /**
     * `malformed-json`: The body is no JSON text as RFC 8259 has it, or it has invalid UTF-8, a name twice in one object, half a surrogate pair, or more than 32 levels. `errors` says where.
     *
     * `invalid-body`: The body is JSON but not what this operation takes. `errors` names each member by its JSON pointer.
     *
     * `invalid-request`: The address, a query parameter, a header or the framing of the request is wrong; `detail` says which.
     */
    400: Problem;
    /**
     * `request-timeout`: The request did not arrive in time. Repeat it.
     */
    408: Problem;
    /**
     * `unsupported-media-type`: The `Content-Type` is not one this path takes, or the body comes with a `Content-Encoding`.
     */
    415: Problem;
    /**
     * `headers-too-large`: The request line and headers together are longer than 16 KiB.
     */
    431: Problem;
    /**
     * `internal`: A fault of the relay. Tell us the `requestId`.
     */
    500: Problem;
};

export type ReadAsyncApiError = ReadAsyncApiErrors[keyof ReadAsyncApiErrors];

export type ReadAsyncApiResponses = {
    /**
     * The document.
     */
    200: {
        [key: string]: unknown;
    };
};

export type ReadAsyncApiResponse = ReadAsyncApiResponses[keyof ReadAsyncApiResponses];

export type CreateSessionData = {
    /**
     * No member has a meaning.
     */
    body?: {
        [key: string]: unknown;
    };
    path: {
        /**
         * Identifier of the user, in either letter case.
         */
        userId: string;
    };
    query?: never;
    url: '/auth/{userId}/session';
};

export type CreateSessionErrors = {
    /**
     * `malformed-json`: The body is no JSON text as RFC 8259 has it, or it has invalid UTF-8, a name twice in one object, half a surrogate pair, or more than 32 levels. `errors` says where.
     *
     * `invalid-body`: The body is JSON but not what this operation takes. `errors` names each member by its JSON pointer.
     *
     * `invalid-request`: The address, a query parameter, a header or the framing of the request is wrong; `detail` says which.
     */
    400: Problem;
    /**
     * `unauthorized`: No valid credential came with the request. Get a token with `POST /auth/token` and send it as `Authorization: Bearer <token>`; with `error="invalid_token"` in `WWW-Authenticate` the one sent is not valid, or no longer.
     */
    401: Problem;
    /**
     * `insufficient-scope`: The token is valid but does not carry the scope that `WWW-Authenticate` names.
     */
    403: Problem;
    /**
     * `request-timeout`: The request did not arrive in time. Repeat it.
     */
    408: Problem;
    /**
     * `payload-too-large`: The body is longer than this path takes: 256 KiB for an envelope, 4 MiB or 1,000 envelopes for a batch, 64 KiB elsewhere.
     */
    413: Problem;
    /**
     * `uri-too-long`: A part of the path is longer than anything that could exist under it.
     */
    414: Problem;
    /**
     * `unsupported-media-type`: The `Content-Type` is not one this path takes, or the body comes with a `Content-Encoding`.
     */
    415: Problem;
    /**
     * `too-many-requests`: Wait as many seconds as `Retry-After` says.
     */
    429: Problem;
    /**
     * `headers-too-large`: The request line and headers together are longer than 16 KiB.
     */
    431: Problem;
    /**
     * `internal`: A fault of the relay. Tell us the `requestId`.
     */
    500: Problem;
    /**
     * `unavailable`: Something the relay needs is away. Repeat after `Retry-After` seconds, an envelope with the same `id`: it may have been stored, and is then not stored twice. A change of a webhook may have been stored as well: list the webhooks before you repeat it.
     */
    503: Problem;
};

export type CreateSessionError = CreateSessionErrors[keyof CreateSessionErrors];

export type CreateSessionResponses = {
    /**
     * The session.
     */
    201: SessionReference;
};

export type CreateSessionResponse = CreateSessionResponses[keyof CreateSessionResponses];

export type IntrospectTokenData = {
    body: TokenForm;
    path?: never;
    query?: never;
    url: '/auth/introspect';
};

export type IntrospectTokenErrors = {
    /**
     * An error of RFC 6749 section 5.2, or: `malformed-json`: The body is no JSON text as RFC 8259 has it, or it has invalid UTF-8, a name twice in one object, half a surrogate pair, or more than 32 levels. `errors` says where.
     *
     * `invalid-body`: The body is JSON but not what this operation takes. `errors` names each member by its JSON pointer.
     *
     * `invalid-request`: The address, a query parameter, a header or the framing of the request is wrong; `detail` says which.
     */
    400: OAuthError;
    /**
     * An error of RFC 6749 section 5.2, or: `unauthorized`: No valid credential came with the request. Get a token with `POST /auth/token` and send it as `Authorization: Bearer <token>`; with `error="invalid_token"` in `WWW-Authenticate` the one sent is not valid, or no longer.
     */
    401: OAuthError;
    /**
     * `request-timeout`: The request did not arrive in time. Repeat it.
     */
    408: Problem;
    /**
     * `payload-too-large`: The body is longer than this path takes: 256 KiB for an envelope, 4 MiB or 1,000 envelopes for a batch, 64 KiB elsewhere.
     */
    413: Problem;
    /**
     * `unsupported-media-type`: The `Content-Type` is not one this path takes, or the body comes with a `Content-Encoding`.
     */
    415: Problem;
    /**
     * An error of RFC 6749 section 5.2, or: `too-many-requests`: Wait as many seconds as `Retry-After` says.
     */
    429: OAuthError;
    /**
     * `headers-too-large`: The request line and headers together are longer than 16 KiB.
     */
    431: Problem;
    /**
     * `internal`: A fault of the relay. Tell us the `requestId`.
     */
    500: Problem;
    /**
     * An error of RFC 6749 section 5.2, or: `unavailable`: Something the relay needs is away. Repeat after `Retry-After` seconds, an envelope with the same `id`: it may have been stored, and is then not stored twice. A change of a webhook may have been stored as well: list the webhooks before you repeat it.
     */
    503: OAuthError;
};

export type IntrospectTokenError = IntrospectTokenErrors[keyof IntrospectTokenErrors];

export type IntrospectTokenResponses = {
    /**
     * What the relay knows of it.
     */
    200: Introspection;
};

export type IntrospectTokenResponse = IntrospectTokenResponses[keyof IntrospectTokenResponses];

export type RevokeTokenData = {
    body: TokenForm;
    path?: never;
    query?: never;
    url: '/auth/revoke';
};

export type RevokeTokenErrors = {
    /**
     * An error of RFC 6749 section 5.2, or: `malformed-json`: The body is no JSON text as RFC 8259 has it, or it has invalid UTF-8, a name twice in one object, half a surrogate pair, or more than 32 levels. `errors` says where.
     *
     * `invalid-body`: The body is JSON but not what this operation takes. `errors` names each member by its JSON pointer.
     *
     * `invalid-request`: The address, a query parameter, a header or the framing of the request is wrong; `detail` says which.
     */
    400: OAuthError;
    /**
     * An error of RFC 6749 section 5.2, or: `unauthorized`: No valid credential came with the request. Get a token with `POST /auth/token` and send it as `Authorization: Bearer <token>`; with `error="invalid_token"` in `WWW-Authenticate` the one sent is not valid, or no longer.
     */
    401: OAuthError;
    /**
     * `request-timeout`: The request did not arrive in time. Repeat it.
     */
    408: Problem;
    /**
     * `payload-too-large`: The body is longer than this path takes: 256 KiB for an envelope, 4 MiB or 1,000 envelopes for a batch, 64 KiB elsewhere.
     */
    413: Problem;
    /**
     * `unsupported-media-type`: The `Content-Type` is not one this path takes, or the body comes with a `Content-Encoding`.
     */
    415: Problem;
    /**
     * An error of RFC 6749 section 5.2, or: `too-many-requests`: Wait as many seconds as `Retry-After` says.
     */
    429: OAuthError;
    /**
     * `headers-too-large`: The request line and headers together are longer than 16 KiB.
     */
    431: Problem;
    /**
     * `internal`: A fault of the relay. Tell us the `requestId`.
     */
    500: Problem;
    /**
     * An error of RFC 6749 section 5.2, or: `unavailable`: Something the relay needs is away. Repeat after `Retry-After` seconds, an envelope with the same `id`: it may have been stored, and is then not stored twice. A change of a webhook may have been stored as well: list the webhooks before you repeat it.
     */
    503: OAuthError;
};

export type RevokeTokenError = RevokeTokenErrors[keyof RevokeTokenErrors];

export type RevokeTokenResponses = {
    /**
     * The token, if it was one of this client, has ended.
     */
    200: unknown;
};

export type EndSessionData = {
    body?: never;
    path: {
        /**
         * Opaque; 256 random bits. Whoever has it and a token of yours can read and end the session.
         */
        sessionId: string;
    };
    query?: never;
    url: '/auth/session/{sessionId}';
};

export type EndSessionErrors = {
    /**
     * `malformed-json`: The body is no JSON text as RFC 8259 has it, or it has invalid UTF-8, a name twice in one object, half a surrogate pair, or more than 32 levels. `errors` says where.
     *
     * `invalid-body`: The body is JSON but not what this operation takes. `errors` names each member by its JSON pointer.
     *
     * `invalid-request`: The address, a query parameter, a header or the framing of the request is wrong; `detail` says which.
     */
    400: Problem;
    /**
     * `unauthorized`: No valid credential came with the request. Get a token with `POST /auth/token` and send it as `Authorization: Bearer <token>`; with `error="invalid_token"` in `WWW-Authenticate` the one sent is not valid, or no longer.
     */
    401: Problem;
    /**
     * `insufficient-scope`: The token is valid but does not carry the scope that `WWW-Authenticate` names.
     */
    403: Problem;
    /**
     * `not-found`: There is no such path, or no such resource of yours.
     */
    404: Problem;
    /**
     * `request-timeout`: The request did not arrive in time. Repeat it.
     */
    408: Problem;
    /**
     * `uri-too-long`: A part of the path is longer than anything that could exist under it.
     */
    414: Problem;
    /**
     * `unsupported-media-type`: The `Content-Type` is not one this path takes, or the body comes with a `Content-Encoding`.
     */
    415: Problem;
    /**
     * `too-many-requests`: Wait as many seconds as `Retry-After` says.
     */
    429: Problem;
    /**
     * `headers-too-large`: The request line and headers together are longer than 16 KiB.
     */
    431: Problem;
    /**
     * `internal`: A fault of the relay. Tell us the `requestId`.
     */
    500: Problem;
    /**
     * `unavailable`: Something the relay needs is away. Repeat after `Retry-After` seconds, an envelope with the same `id`: it may have been stored, and is then not stored twice. A change of a webhook may have been stored as well: list the webhooks before you repeat it.
     */
    503: Problem;
};

export type EndSessionError = EndSessionErrors[keyof EndSessionErrors];

export type EndSessionResponses = {
    /**
     * It has ended.
     */
    204: void;
};

export type EndSessionResponse = EndSessionResponses[keyof EndSessionResponses];

export type ReadSessionData = {
    body?: never;
    path: {
        /**
         * Opaque; 256 random bits. Whoever has it and a token of yours can read and end the session.
         */
        sessionId: string;
    };
    query?: never;
    url: '/auth/session/{sessionId}';
};

export type ReadSessionErrors = {
    /**
     * `malformed-json`: The body is no JSON text as RFC 8259 has it, or it has invalid UTF-8, a name twice in one object, half a surrogate pair, or more than 32 levels. `errors` says where.
     *
     * `invalid-body`: The body is JSON but not what this operation takes. `errors` names each member by its JSON pointer.
     *
     * `invalid-request`: The address, a query parameter, a header or the framing of the request is wrong; `detail` says which.
     */
    400: Problem;
    /**
     * `unauthorized`: No valid credential came with the request. Get a token with `POST /auth/token` and send it as `Authorization: Bearer <token>`; with `error="invalid_token"` in `WWW-Authenticate` the one sent is not valid, or no longer.
     */
    401: Problem;
    /**
     * `insufficient-scope`: The token is valid but does not carry the scope that `WWW-Authenticate` names.
     */
    403: Problem;
    /**
     * `not-found`: There is no such path, or no such resource of yours.
     */
    404: Problem;
    /**
     * `request-timeout`: The request did not arrive in time. Repeat it.
     */
    408: Problem;
    /**
     * `uri-too-long`: A part of the path is longer than anything that could exist under it.
     */
    414: Problem;
    /**
     * `unsupported-media-type`: The `Content-Type` is not one this path takes, or the body comes with a `Content-Encoding`.
     */
    415: Problem;
    /**
     * `too-many-requests`: Wait as many seconds as `Retry-After` says.
     */
    429: Problem;
    /**
     * `headers-too-large`: The request line and headers together are longer than 16 KiB.
     */
    431: Problem;
    /**
     * `internal`: A fault of the relay. Tell us the `requestId`.
     */
    500: Problem;
    /**
     * `unavailable`: Something the relay needs is away. Repeat after `Retry-After` seconds, an envelope with the same `id`: it may have been stored, and is then not stored twice. A change of a webhook may have been stored as well: list the webhooks before you repeat it.
     */
    503: Problem;
};

export type ReadSessionError = ReadSessionErrors[keyof ReadSessionErrors];

export type ReadSessionResponses = {
    /**
     * The session.
     */
    200: Session;
};

export type ReadSessionResponse = ReadSessionResponses[keyof ReadSessionResponses];

export type IssueTokenData = {
    body?: TokenRequest;
    path?: never;
    query?: never;
    url: '/auth/token';
};

export type IssueTokenErrors = {
    /**
     * An error of RFC 6749 section 5.2, or: `malformed-json`: The body is no JSON text as RFC 8259 has it, or it has invalid UTF-8, a name twice in one object, half a surrogate pair, or more than 32 levels. `errors` says where.
     *
     * `invalid-body`: The body is JSON but not what this operation takes. `errors` names each member by its JSON pointer.
     *
     * `invalid-request`: The address, a query parameter, a header or the framing of the request is wrong; `detail` says which.
     */
    400: OAuthError;
    /**
     * An error of RFC 6749 section 5.2, or: `unauthorized`: No valid credential came with the request. Get a token with `POST /auth/token` and send it as `Authorization: Bearer <token>`; with `error="invalid_token"` in `WWW-Authenticate` the one sent is not valid, or no longer.
     */
    401: OAuthError;
    /**
     * `request-timeout`: The request did not arrive in time. Repeat it.
     */
    408: Problem;
    /**
     * `payload-too-large`: The body is longer than this path takes: 256 KiB for an envelope, 4 MiB or 1,000 envelopes for a batch, 64 KiB elsewhere.
     */
    413: Problem;
    /**
     * `unsupported-media-type`: The `Content-Type` is not one this path takes, or the body comes with a `Content-Encoding`.
     */
    415: Problem;
    /**
     * An error of RFC 6749 section 5.2, or: `too-many-requests`: Wait as many seconds as `Retry-After` says.
     */
    429: OAuthError;
    /**
     * `headers-too-large`: The request line and headers together are longer than 16 KiB.
     */
    431: Problem;
    /**
     * `internal`: A fault of the relay. Tell us the `requestId`.
     */
    500: Problem;
    /**
     * An error of RFC 6749 section 5.2, or: `unavailable`: Something the relay needs is away. Repeat after `Retry-After` seconds, an envelope with the same `id`: it may have been stored, and is then not stored twice. A change of a webhook may have been stored as well: list the webhooks before you repeat it.
     */
    503: OAuthError;
};

export type IssueTokenError = IssueTokenErrors[keyof IssueTokenErrors];

export type IssueTokenResponses = {
    /**
     * The token.
     */
    200: AccessToken;
};

export type IssueTokenResponse = IssueTokenResponses[keyof IssueTokenResponses];

export type SendEnvelopeData = {
    body: Envelope;
    headers?: {
        /**
         * Client ids of the only partners it is for, joined by commas or in several headers.
         */
        'relay-partner'?: string;
        /**
         * W3C Trace Context; continued in Kafka and to the endpoint.
         */
        traceparent?: string;
    };
    path?: never;
    query?: never;
    url: '/deliveries';
};

export type SendEnvelopeErrors = {
    /**
     * `malformed-json`: The body is no JSON text as RFC 8259 has it, or it has invalid UTF-8, a name twice in one object, half a surrogate pair, or more than 32 levels. `errors` says where.
     *
     * `invalid-body`: The body is JSON but not what this operation takes. `errors` names each member by its JSON pointer.
     *
     * `invalid-request`: The address, a query parameter, a header or the framing of the request is wrong; `detail` says which.
     */
    400: Problem;
    /**
     * `unauthorized`: No valid credential came with the request. Get a token with `POST /auth/token` and send it as `Authorization: Bearer <token>`; with `error="invalid_token"` in `WWW-Authenticate` the one sent is not valid, or no longer.
     */
    401: Problem;
    /**
     * `insufficient-scope`: The token is valid but does not carry the scope that `WWW-Authenticate` names.
     */
    403: Problem;
    /**
     * `request-timeout`: The request did not arrive in time. Repeat it.
     */
    408: Problem;
    /**
     * `conflict`: The request contradicts what is stored; `detail` and further members say what. Nothing was changed.
     */
    409: Problem;
    /**
     * `payload-too-large`: The body is longer than this path takes: 256 KiB for an envelope, 4 MiB or 1,000 envelopes for a batch, 64 KiB elsewhere.
     */
    413: Problem;
    /**
     * `unsupported-media-type`: The `Content-Type` is not one this path takes, or the body comes with a `Content-Encoding`.
     */
    415: Problem;
    /**
     * `too-many-requests`: Wait as many seconds as `Retry-After` says.
     */
    429: Problem;
    /**
     * `headers-too-large`: The request line and headers together are longer than 16 KiB.
     */
    431: Problem;
    /**
     * `internal`: A fault of the relay. Tell us the `requestId`.
     */
    500: Problem;
    /**
     * `unavailable`: Something the relay needs is away. Repeat after `Retry-After` seconds, an envelope with the same `id`: it may have been stored, and is then not stored twice. A change of a webhook may have been stored as well: list the webhooks before you repeat it.
     */
    503: Problem;
};

export type SendEnvelopeError = SendEnvelopeErrors[keyof SendEnvelopeErrors];

export type SendEnvelopeResponses = {
    /**
     * It is stored, now or before.
     */
    202: Receipt;
};

export type SendEnvelopeResponse = SendEnvelopeResponses[keyof SendEnvelopeResponses];

export type ReadDeliveriesData = {
    body?: never;
    path: {
        /**
         * Identifier of the envelope: what came as `webhook-id`.
         */
        envelopeId: string;
    };
    query?: never;
    url: '/deliveries/{envelopeId}';
};

export type ReadDeliveriesErrors = {
    /**
     * `malformed-json`: The body is no JSON text as RFC 8259 has it, or it has invalid UTF-8, a name twice in one object, half a surrogate pair, or more than 32 levels. `errors` says where.
     *
     * `invalid-body`: The body is JSON but not what this operation takes. `errors` names each member by its JSON pointer.
     *
     * `invalid-request`: The address, a query parameter, a header or the framing of the request is wrong; `detail` says which.
     */
    400: Problem;
    /**
     * `unauthorized`: No valid credential came with the request. Get a token with `POST /auth/token` and send it as `Authorization: Bearer <token>`; with `error="invalid_token"` in `WWW-Authenticate` the one sent is not valid, or no longer.
     */
    401: Problem;
    /**
     * `insufficient-scope`: The token is valid but does not carry the scope that `WWW-Authenticate` names.
     */
    403: Problem;
    /**
     * `not-found`: There is no such path, or no such resource of yours.
     */
    404: Problem;
    /**
     * `request-timeout`: The request did not arrive in time. Repeat it.
     */
    408: Problem;
    /**
     * `uri-too-long`: A part of the path is longer than anything that could exist under it.
     */
    414: Problem;
    /**
     * `unsupported-media-type`: The `Content-Type` is not one this path takes, or the body comes with a `Content-Encoding`.
     */
    415: Problem;
    /**
     * `too-many-requests`: Wait as many seconds as `Retry-After` says.
     */
    429: Problem;
    /**
     * `headers-too-large`: The request line and headers together are longer than 16 KiB.
     */
    431: Problem;
    /**
     * `internal`: A fault of the relay. Tell us the `requestId`.
     */
    500: Problem;
    /**
     * `unavailable`: Something the relay needs is away. Repeat after `Retry-After` seconds, an envelope with the same `id`: it may have been stored, and is then not stored twice. A change of a webhook may have been stored as well: list the webhooks before you repeat it.
     */
    503: Problem;
};

export type ReadDeliveriesError = ReadDeliveriesErrors[keyof ReadDeliveriesErrors];

export type ReadDeliveriesResponses = {
    /**
     * Its deliveries to your webhooks, newest first.
     */
    200: Deliveries;
};

export type ReadDeliveriesResponse = ReadDeliveriesResponses[keyof ReadDeliveriesResponses];

export type RetryDeliveriesData = {
    body?: RetryRequest;
    path: {
        /**
         * Identifier of the envelope: what came as `webhook-id`.
         */
        envelopeId: string;
    };
    query?: never;
    url: '/deliveries/{envelopeId}/retry';
};

export type RetryDeliveriesErrors = {
    /**
     * `malformed-json`: The body is no JSON text as RFC 8259 has it, or it has invalid UTF-8, a name twice in one object, half a surrogate pair, or more than 32 levels. `errors` says where.
     *
     * `invalid-body`: The body is JSON but not what this operation takes. `errors` names each member by its JSON pointer.
     *
     * `invalid-request`: The address, a query parameter, a header or the framing of the request is wrong; `detail` says which.
     */
    400: Problem;
    /**
     * `unauthorized`: No valid credential came with the request. Get a token with `POST /auth/token` and send it as `Authorization: Bearer <token>`; with `error="invalid_token"` in `WWW-Authenticate` the one sent is not valid, or no longer.
     */
    401: Problem;
    /**
     * `insufficient-scope`: The token is valid but does not carry the scope that `WWW-Authenticate` names.
     */
    403: Problem;
    /**
     * `not-found`: There is no such path, or no such resource of yours.
     */
    404: Problem;
    /**
     * `request-timeout`: The request did not arrive in time. Repeat it.
     */
    408: Problem;
    /**
     * `conflict`: The request contradicts what is stored; `detail` and further members say what. Nothing was changed.
     */
    409: Problem;
    /**
     * `payload-too-large`: The body is longer than this path takes: 256 KiB for an envelope, 4 MiB or 1,000 envelopes for a batch, 64 KiB elsewhere.
     */
    413: Problem;
    /**
     * `uri-too-long`: A part of the path is longer than anything that could exist under it.
     */
    414: Problem;
    /**
     * `unsupported-media-type`: The `Content-Type` is not one this path takes, or the body comes with a `Content-Encoding`.
     */
    415: Problem;
    /**
     * `too-many-requests`: Wait as many seconds as `Retry-After` says.
     */
    429: Problem;
    /**
     * `headers-too-large`: The request line and headers together are longer than 16 KiB.
     */
    431: Problem;
    /**
     * `internal`: A fault of the relay. Tell us the `requestId`.
     */
    500: Problem;
    /**
     * `unavailable`: Something the relay needs is away. Repeat after `Retry-After` seconds, an envelope with the same `id`: it may have been stored, and is then not stored twice. A change of a webhook may have been stored as well: list the webhooks before you repeat it.
     */
    503: Problem;
};

export type RetryDeliveriesError = RetryDeliveriesErrors[keyof RetryDeliveriesErrors];

export type RetryDeliveriesResponses = {
    /**
     * They are due now; each is attempted when its endpoint has room.
     */
    202: RetryAnswer;
};

export type RetryDeliveriesResponse = RetryDeliveriesResponses[keyof RetryDeliveriesResponses];

export type SendBatchData = {
    body: Array<Envelope>;
    headers?: {
        /**
         * Client ids of the only partners it is for, joined by commas or in several headers.
         */
        'relay-partner'?: string;
        /**
         * W3C Trace Context; continued in Kafka and to the endpoint.
         */
        traceparent?: string;
    };
    path?: never;
    query?: never;
    url: '/deliveries/batch';
};

export type SendBatchErrors = {
    /**
     * `malformed-json`: The body is no JSON text as RFC 8259 has it, or it has invalid UTF-8, a name twice in one object, half a surrogate pair, or more than 32 levels. `errors` says where.
     *
     * `invalid-body`: The body is JSON but not what this operation takes. `errors` names each member by its JSON pointer.
     *
     * `invalid-request`: The address, a query parameter, a header or the framing of the request is wrong; `detail` says which.
     */
    400: Problem;
    /**
     * `unauthorized`: No valid credential came with the request. Get a token with `POST /auth/token` and send it as `Authorization: Bearer <token>`; with `error="invalid_token"` in `WWW-Authenticate` the one sent is not valid, or no longer.
     */
    401: Problem;
    /**
     * `insufficient-scope`: The token is valid but does not carry the scope that `WWW-Authenticate` names.
     */
    403: Problem;
    /**
     * `request-timeout`: The request did not arrive in time. Repeat it.
     */
    408: Problem;
    /**
     * `payload-too-large`: The body is longer than this path takes: 256 KiB for an envelope, 4 MiB or 1,000 envelopes for a batch, 64 KiB elsewhere.
     */
    413: Problem;
    /**
     * `unsupported-media-type`: The `Content-Type` is not one this path takes, or the body comes with a `Content-Encoding`.
     */
    415: Problem;
    /**
     * `too-many-requests`: Wait as many seconds as `Retry-After` says.
     */
    429: Problem;
    /**
     * `headers-too-large`: The request line and headers together are longer than 16 KiB.
     */
    431: Problem;
    /**
     * `internal`: A fault of the relay. Tell us the `requestId`.
     */
    500: Problem;
    /**
     * `unavailable`: Something the relay needs is away. Repeat after `Retry-After` seconds, an envelope with the same `id`: it may have been stored, and is then not stored twice. A change of a webhook may have been stored as well: list the webhooks before you repeat it.
     */
    503: Problem;
};

export type SendBatchError = SendBatchErrors[keyof SendBatchErrors];

export type SendBatchResponses = {
    /**
     * What became of each.
     */
    200: BatchAnswer;
};

export type SendBatchResponse = SendBatchResponses[keyof SendBatchResponses];

export type ReadDocsData = {
    body?: never;
    path?: never;
    query?: never;
    url: '/docs';
};

export type ReadDocsErrors = {
    /**
     * `malformed-json`: The body is no JSON text as RFC 8259 has it, or it has invalid UTF-8, a name twice in one object, half a surrogate pair, or more than 32 levels. `errors` says where.
     *
     * `invalid-body`: The body is JSON but not what this operation takes. `errors` names each member by its JSON pointer.
     *
     * `invalid-request`: The address, a query parameter, a header or the framing of the request is wrong; `detail` says which.
     */
    400: Problem;
    /**
     * `request-timeout`: The request did not arrive in time. Repeat it.
     */
    408: Problem;
    /**
     * `unsupported-media-type`: The `Content-Type` is not one this path takes, or the body comes with a `Content-Encoding`.
     */
    415: Problem;
    /**
     * `headers-too-large`: The request line and headers together are longer than 16 KiB.
     */
    431: Problem;
    /**
     * `internal`: A fault of the relay. Tell us the `requestId`.
     */
    500: Problem;
};

export type ReadDocsError = ReadDocsErrors[keyof ReadDocsErrors];

export type ReadDocsResponses = {
    /**
     * The document.
     */
    200: string;
};

export type ReadDocsResponse = ReadDocsResponses[keyof ReadDocsResponses];

export type ReadErrorsData = {
    body?: never;
    path?: never;
    query?: never;
    url: '/docs/errors';
};

export type ReadErrorsErrors = {
    /**
     * `malformed-json`: The body is no JSON text as RFC 8259 has it, or it has invalid UTF-8, a name twice in one object, half a surrogate pair, or more than 32 levels. `errors` says where.
     *
     * `invalid-body`: The body is JSON but not what this operation takes. `errors` names each member by its JSON pointer.
     *
     * `invalid-request`: The address, a query parameter, a header or the framing of the request is wrong; `detail` says which.
     */
    400: Problem;
    /**
     * `request-timeout`: The request did not arrive in time. Repeat it.
     */
    408: Problem;
    /**
     * `unsupported-media-type`: The `Content-Type` is not one this path takes, or the body comes with a `Content-Encoding`.
     */
    415: Problem;
    /**
     * `headers-too-large`: The request line and headers together are longer than 16 KiB.
     */
    431: Problem;
    /**
     * `internal`: A fault of the relay. Tell us the `requestId`.
     */
    500: Problem;
};

export type ReadErrorsError = ReadErrorsErrors[keyof ReadErrorsErrors];

export type ReadErrorsResponses = {
    /**
     * The document.
     */
    200: string;
};

export type ReadErrorsResponse = ReadErrorsResponses[keyof ReadErrorsResponses];

export type ReadOpenApiData = {
    body?: never;
    path?: never;
    query?: never;
    url: '/openapi.json';
};

export type ReadOpenApiErrors = {
    /**
     * `malformed-json`: The body is no JSON text as RFC 8259 has it, or it has invalid UTF-8, a name twice in one object, half a surrogate pair, or more than 32 levels. `errors` says where.
     *
     * `invalid-body`: The body is JSON but not what this operation takes. `errors` names each member by its JSON pointer.
     *
     * `invalid-request`: The address, a query parameter, a header or the framing of the request is wrong; `detail` says which.
     */
    400: Problem;
    /**
     * `request-timeout`: The request did not arrive in time. Repeat it.
     */
    408: Problem;
    /**
     * `unsupported-media-type`: The `Content-Type` is not one this path takes, or the body comes with a `Content-Encoding`.
     */
    415: Problem;
    /**
     * `headers-too-large`: The request line and headers together are longer than 16 KiB.
     */
    431: Problem;
    /**
     * `internal`: A fault of the relay. Tell us the `requestId`.
     */
    500: Problem;
};

export type ReadOpenApiError = ReadOpenApiErrors[keyof ReadOpenApiErrors];

export type ReadOpenApiResponses = {
    /**
     * The document.
     */
    200: {
        [key: string]: unknown;
    };
};

export type ReadOpenApiResponse = ReadOpenApiResponses[keyof ReadOpenApiResponses];

export type CancelReplayData = {
    body?: never;
    path: {
        /**
         * Identifier of the replay.
         */
        id: string;
    };
    query?: never;
    url: '/replays/{id}';
};

export type CancelReplayErrors = {
    /**
     * `malformed-json`: The body is no JSON text as RFC 8259 has it, or it has invalid UTF-8, a name twice in one object, half a surrogate pair, or more than 32 levels. `errors` says where.
     *
     * `invalid-body`: The body is JSON but not what this operation takes. `errors` names each member by its JSON pointer.
     *
     * `invalid-request`: The address, a query parameter, a header or the framing of the request is wrong; `detail` says which.
     */
    400: Problem;
    /**
     * `unauthorized`: No valid credential came with the request. Get a token with `POST /auth/token` and send it as `Authorization: Bearer <token>`; with `error="invalid_token"` in `WWW-Authenticate` the one sent is not valid, or no longer.
     */
    401: Problem;
    /**
     * `insufficient-scope`: The token is valid but does not carry the scope that `WWW-Authenticate` names.
     */
    403: Problem;
    /**
     * `not-found`: There is no such path, or no such resource of yours.
     */
    404: Problem;
    /**
     * `request-timeout`: The request did not arrive in time. Repeat it.
     */
    408: Problem;
    /**
     * `uri-too-long`: A part of the path is longer than anything that could exist under it.
     */
    414: Problem;
    /**
     * `unsupported-media-type`: The `Content-Type` is not one this path takes, or the body comes with a `Content-Encoding`.
     */
    415: Problem;
    /**
     * `too-many-requests`: Wait as many seconds as `Retry-After` says.
     */
    429: Problem;
    /**
     * `headers-too-large`: The request line and headers together are longer than 16 KiB.
     */
    431: Problem;
    /**
     * `internal`: A fault of the relay. Tell us the `requestId`.
     */
    500: Problem;
    /**
     * `unavailable`: Something the relay needs is away. Repeat after `Retry-After` seconds, an envelope with the same `id`: it may have been stored, and is then not stored twice. A change of a webhook may have been stored as well: list the webhooks before you repeat it.
     */
    503: Problem;
};

export type CancelReplayError = CancelReplayErrors[keyof CancelReplayErrors];

export type CancelReplayResponses = {
    /**
     * It has ended or is ending.
     */
    204: void;
};

export type CancelReplayResponse = CancelReplayResponses[keyof CancelReplayResponses];

export type ReadReplayData = {
    body?: never;
    path: {
        /**
         * Identifier of the replay.
         */
        id: string;
    };
    query?: never;
    url: '/replays/{id}';
};

export type ReadReplayErrors = {
    /**
     * `malformed-json`: The body is no JSON text as RFC 8259 has it, or it has invalid UTF-8, a name twice in one object, half a surrogate pair, or more than 32 levels. `errors` says where.
     *
     * `invalid-body`: The body is JSON but not what this operation takes. `errors` names each member by its JSON pointer.
     *
     * `invalid-request`: The address, a query parameter, a header or the framing of the request is wrong; `detail` says which.
     */
    400: Problem;
    /**
     * `unauthorized`: No valid credential came with the request. Get a token with `POST /auth/token` and send it as `Authorization: Bearer <token>`; with `error="invalid_token"` in `WWW-Authenticate` the one sent is not valid, or no longer.
     */
    401: Problem;
    /**
     * `insufficient-scope`: The token is valid but does not carry the scope that `WWW-Authenticate` names.
     */
    403: Problem;
    /**
     * `not-found`: There is no such path, or no such resource of yours.
     */
    404: Problem;
    /**
     * `request-timeout`: The request did not arrive in time. Repeat it.
     */
    408: Problem;
    /**
     * `uri-too-long`: A part of the path is longer than anything that could exist under it.
     */
    414: Problem;
    /**
     * `unsupported-media-type`: The `Content-Type` is not one this path takes, or the body comes with a `Content-Encoding`.
     */
    415: Problem;
    /**
     * `too-many-requests`: Wait as many seconds as `Retry-After` says.
     */
    429: Problem;
    /**
     * `headers-too-large`: The request line and headers together are longer than 16 KiB.
     */
    431: Problem;
    /**
     * `internal`: A fault of the relay. Tell us the `requestId`.
     */
    500: Problem;
    /**
     * `unavailable`: Something the relay needs is away. Repeat after `Retry-After` seconds, an envelope with the same `id`: it may have been stored, and is then not stored twice. A change of a webhook may have been stored as well: list the webhooks before you repeat it.
     */
    503: Problem;
};

export type ReadReplayError = ReadReplayErrors[keyof ReadReplayErrors];

export type ReadReplayResponses = {
    /**
     * The replay.
     */
    200: Replay;
};

export type ReadReplayResponse = ReadReplayResponses[keyof ReadReplayResponses];

export type ReadSchemaData = {
    body?: never;
    path: {
        /**
         * Name of the schema, as in this document, and `.json`.
         */
        name: string;
    };
    query?: never;
    url: '/schemas/{name}';
};

export type ReadSchemaErrors = {
    /**
     * `malformed-json`: The body is no JSON text as RFC 8259 has it, or it has invalid UTF-8, a name twice in one object, half a surrogate pair, or more than 32 levels. `errors` says where.
     *
     * `invalid-body`: The body is JSON but not what this operation takes. `errors` names each member by its JSON pointer.
     *
     * `invalid-request`: The address, a query parameter, a header or the framing of the request is wrong; `detail` says which.
     */
    400: Problem;
    /**
     * `not-found`: There is no such path, or no such resource of yours.
     */
    404: Problem;
    /**
     * `request-timeout`: The request did not arrive in time. Repeat it.
     */
    408: Problem;
    /**
     * `uri-too-long`: A part of the path is longer than anything that could exist under it.
     */
    414: Problem;
    /**
     * `unsupported-media-type`: The `Content-Type` is not one this path takes, or the body comes with a `Content-Encoding`.
     */
    415: Problem;
    /**
     * `headers-too-large`: The request line and headers together are longer than 16 KiB.
     */
    431: Problem;
    /**
     * `internal`: A fault of the relay. Tell us the `requestId`.
     */
    500: Problem;
};

export type ReadSchemaError = ReadSchemaErrors[keyof ReadSchemaErrors];

export type ReadSchemaResponses = {
    /**
     * The document.
     */
    200: {
        [key: string]: unknown;
    };
};

export type ReadSchemaResponse = ReadSchemaResponses[keyof ReadSchemaResponses];

export type DeleteWebhookData = {
    body: WebhookDeletion;
    path?: never;
    query?: never;
    url: '/webhooks';
};

export type DeleteWebhookErrors = {
    /**
     * `malformed-json`: The body is no JSON text as RFC 8259 has it, or it has invalid UTF-8, a name twice in one object, half a surrogate pair, or more than 32 levels. `errors` says where.
     *
     * `invalid-body`: The body is JSON but not what this operation takes. `errors` names each member by its JSON pointer.
     *
     * `invalid-request`: The address, a query parameter, a header or the framing of the request is wrong; `detail` says which.
     */
    400: Problem;
    /**
     * `unauthorized`: No valid credential came with the request. Get a token with `POST /auth/token` and send it as `Authorization: Bearer <token>`; with `error="invalid_token"` in `WWW-Authenticate` the one sent is not valid, or no longer.
     */
    401: Problem;
    /**
     * `insufficient-scope`: The token is valid but does not carry the scope that `WWW-Authenticate` names.
     */
    403: Problem;
    /**
     * `not-found`: There is no such path, or no such resource of yours.
     */
    404: Problem;
    /**
     * `request-timeout`: The request did not arrive in time. Repeat it.
     */
    408: Problem;
    /**
     * `conflict`: The request contradicts what is stored; `detail` and further members say what. Nothing was changed.
     */
    409: Problem;
    /**
     * `payload-too-large`: The body is longer than this path takes: 256 KiB for an envelope, 4 MiB or 1,000 envelopes for a batch, 64 KiB elsewhere.
     */
    413: Problem;
    /**
     * `unsupported-media-type`: The `Content-Type` is not one this path takes, or the body comes with a `Content-Encoding`.
     */
    415: Problem;
    /**
     * `too-many-requests`: Wait as many seconds as `Retry-After` says.
     */
    429: Problem;
    /**
     * `headers-too-large`: The request line and headers together are longer than 16 KiB.
     */
    431: Problem;
    /**
     * `internal`: A fault of the relay. Tell us the `requestId`.
     */
    500: Problem;
    /**
     * `unavailable`: Something the relay needs is away. Repeat after `Retry-After` seconds, an envelope with the same `id`: it may have been stored, and is then not stored twice. A change of a webhook may have been stored as well: list the webhooks before you repeat it.
     */
    503: Problem;
};

export type DeleteWebhookError = DeleteWebhookErrors[keyof DeleteWebhookErrors];

export type DeleteWebhookResponses = {
    /**
     * It is deleted; what waits for it is cancelled.
     */
    200: WebhookReference;
};

export type DeleteWebhookResponse = DeleteWebhookResponses[keyof DeleteWebhookResponses];

export type ListWebhooksData = {
    body?: WebhookListing;
    path?: never;
    query?: {
        /**
         * Only webhooks of this event type.
         */
        eventType?: 'task.created' | 'task.updated' | 'task.deleted' | 'recommendation.created' | 'recommendation.updated' | 'recommendation.deleted' | 'plan.created' | 'plan.updated' | 'plan.completed' | 'message.created' | 'notification.completed' | 'tax_return.created' | 'tax_return.updated' | 'tax_return.filed';
        /**
         * Longest page: 1 to 1000.
         */
        limit?: string;
        /**
         * Where the page begins; out of the Link header of the page before.
         */
        cursor?: string;
    };
    url: '/webhooks';
};

export type ListWebhooksErrors = {
    /**
     * `malformed-json`: The body is no JSON text as RFC 8259 has it, or it has invalid UTF-8, a name twice in one object, half a surrogate pair, or more than 32 levels. `errors` says where.
     *
     * `invalid-body`: The body is JSON but not what this operation takes. `errors` names each member by its JSON pointer.
     *
     * `invalid-request`: The address, a query parameter, a header or the framing of the request is wrong; `detail` says which.
     */
    400: Problem;
    /**
     * `unauthorized`: No valid credential came with the request. Get a token with `POST /auth/token` and send it as `Authorization: Bearer <token>`; with `error="invalid_token"` in `WWW-Authenticate` the one sent is not valid, or no longer.
     */
    401: Problem;
    /**
     * `insufficient-scope`: The token is valid but does not carry the scope that `WWW-Authenticate` names.
     */
    403: Problem;
    /**
     * `request-timeout`: The request did not arrive in time. Repeat it.
     */
    408: Problem;
    /**
     * `payload-too-large`: The body is longer than this path takes: 256 KiB for an envelope, 4 MiB or 1,000 envelopes for a batch, 64 KiB elsewhere.
     */
    413: Problem;
    /**
     * `unsupported-media-type`: The `Content-Type` is not one this path takes, or the body comes with a `Content-Encoding`.
     */
    415: Problem;
    /**
     * `too-many-requests`: Wait as many seconds as `Retry-After` says.
     */
    429: Problem;
    /**
     * `headers-too-large`: The request line and headers together are longer than 16 KiB.
     */
    431: Problem;
    /**
     * `internal`: A fault of the relay. Tell us the `requestId`.
     */
    500: Problem;
    /**
     * `unavailable`: Something the relay needs is away. Repeat after `Retry-After` seconds, an envelope with the same `id`: it may have been stored, and is then not stored twice. A change of a webhook may have been stored as well: list the webhooks before you repeat it.
     */
    503: Problem;
};

export type ListWebhooksError = ListWebhooksErrors[keyof ListWebhooksErrors];

export type ListWebhooksResponses = {
    /**
     * The webhooks, oldest first.
     */
    200: Array<Webhook>;
};

export type ListWebhooksResponse = ListWebhooksResponses[keyof ListWebhooksResponses];

export type RegisterWebhookData = {
    body: WebhookInput;
    path?: never;
    query?: never;
    url: '/webhooks';
};

export type RegisterWebhookErrors = {
    /**
     * `malformed-json`: The body is no JSON text as RFC 8259 has it, or it has invalid UTF-8, a name twice in one object, half a surrogate pair, or more than 32 levels. `errors` says where.
     *
     * `invalid-body`: The body is JSON but not what this operation takes. `errors` names each member by its JSON pointer.
     *
     * `invalid-request`: The address, a query parameter, a header or the framing of the request is wrong; `detail` says which.
     */
    400: Problem;
    /**
     * `unauthorized`: No valid credential came with the request. Get a token with `POST /auth/token` and send it as `Authorization: Bearer <token>`; with `error="invalid_token"` in `WWW-Authenticate` the one sent is not valid, or no longer.
     */
    401: Problem;
    /**
     * `insufficient-scope`: The token is valid but does not carry the scope that `WWW-Authenticate` names.
     */
    403: Problem;
    /**
     * `request-timeout`: The request did not arrive in time. Repeat it.
     */
    408: Problem;
    /**
     * `conflict`: The request contradicts what is stored; `detail` and further members say what. Nothing was changed.
     */
    409: Problem;
    /**
     * `payload-too-large`: The body is longer than this path takes: 256 KiB for an envelope, 4 MiB or 1,000 envelopes for a batch, 64 KiB elsewhere.
     */
    413: Problem;
    /**
     * `unsupported-media-type`: The `Content-Type` is not one this path takes, or the body comes with a `Content-Encoding`.
     */
    415: Problem;
    /**
     * `too-many-requests`: Wait as many seconds as `Retry-After` says.
     */
    429: Problem;
    /**
     * `headers-too-large`: The request line and headers together are longer than 16 KiB.
     */
    431: Problem;
    /**
     * `internal`: A fault of the relay. Tell us the `requestId`.
     */
    500: Problem;
    /**
     * `unavailable`: Something the relay needs is away. Repeat after `Retry-After` seconds, an envelope with the same `id`: it may have been stored, and is then not stored twice. A change of a webhook may have been stored as well: list the webhooks before you repeat it.
     */
    503: Problem;
};

export type RegisterWebhookError = RegisterWebhookErrors[keyof RegisterWebhookErrors];

export type RegisterWebhookResponses = {
    /**
     * It is registered.
     */
    201: WebhookReference;
};

export type RegisterWebhookResponse = RegisterWebhookResponses[keyof RegisterWebhookResponses];

export type UpdateWebhookData = {
    body: WebhookUpdate;
    path?: never;
    query?: never;
    url: '/webhooks';
};

export type UpdateWebhookErrors = {
    /**
     * `malformed-json`: The body is no JSON text as RFC 8259 has it, or it has invalid UTF-8, a name twice in one object, half a surrogate pair, or more than 32 levels. `errors` says where.
     *
     * `invalid-body`: The body is JSON but not what this operation takes. `errors` names each member by its JSON pointer.
     *
     * `invalid-request`: The address, a query parameter, a header or the framing of the request is wrong; `detail` says which.
     */
    400: Problem;
    /**
     * `unauthorized`: No valid credential came with the request. Get a token with `POST /auth/token` and send it as `Authorization: Bearer <token>`; with `error="invalid_token"` in `WWW-Authenticate` the one sent is not valid, or no longer.
     */
    401: Problem;
    /**
     * `insufficient-scope`: The token is valid but does not carry the scope that `WWW-Authenticate` names.
     */
    403: Problem;
    /**
     * `not-found`: There is no such path, or no such resource of yours.
     */
    404: Problem;
    /**
     * `request-timeout`: The request did not arrive in time. Repeat it.
     */
    408: Problem;
    /**
     * `conflict`: The request contradicts what is stored; `detail` and further members say what. Nothing was changed.
     */
    409: Problem;
    /**
     * `payload-too-large`: The body is longer than this path takes: 256 KiB for an envelope, 4 MiB or 1,000 envelopes for a batch, 64 KiB elsewhere.
     */
    413: Problem;
    /**
     * `unsupported-media-type`: The `Content-Type` is not one this path takes, or the body comes with a `Content-Encoding`.
     */
    415: Problem;
    /**
     * `too-many-requests`: Wait as many seconds as `Retry-After` says.
     */
    429: Problem;
    /**
     * `headers-too-large`: The request line and headers together are longer than 16 KiB.
     */
    431: Problem;
    /**
     * `internal`: A fault of the relay. Tell us the `requestId`.
     */
    500: Problem;
    /**
     * `unavailable`: Something the relay needs is away. Repeat after `Retry-After` seconds, an envelope with the same `id`: it may have been stored, and is then not stored twice. A change of a webhook may have been stored as well: list the webhooks before you repeat it.
     */
    503: Problem;
};

export type UpdateWebhookError = UpdateWebhookErrors[keyof UpdateWebhookErrors];

export type UpdateWebhookResponses = {
    /**
     * It is replaced.
     */
    200: WebhookReference;
};

export type UpdateWebhookResponse = UpdateWebhookResponses[keyof UpdateWebhookResponses];

export type RemoveWebhookData = {
    body?: never;
    headers?: {
        /**
         * The `ETag` that was read: the change is made only while it is still right.
         */
        'if-match'?: string;
    };
    path: {
        /**
         * Identifier of the webhook, in either letter case.
         */
        id: string;
    };
    query?: never;
    url: '/webhooks/{id}';
};

export type RemoveWebhookErrors = {
    /**
     * `malformed-json`: The body is no JSON text as RFC 8259 has it, or it has invalid UTF-8, a name twice in one object, half a surrogate pair, or more than 32 levels. `errors` says where.
     *
     * `invalid-body`: The body is JSON but not what this operation takes. `errors` names each member by its JSON pointer.
     *
     * `invalid-request`: The address, a query parameter, a header or the framing of the request is wrong; `detail` says which.
     */
    400: Problem;
    /**
     * `unauthorized`: No valid credential came with the request. Get a token with `POST /auth/token` and send it as `Authorization: Bearer <token>`; with `error="invalid_token"` in `WWW-Authenticate` the one sent is not valid, or no longer.
     */
    401: Problem;
    /**
     * `insufficient-scope`: The token is valid but does not carry the scope that `WWW-Authenticate` names.
     */
    403: Problem;
    /**
     * `not-found`: There is no such path, or no such resource of yours.
     */
    404: Problem;
    /**
     * `request-timeout`: The request did not arrive in time. Repeat it.
     */
    408: Problem;
    /**
     * `precondition-failed`: The resource is no longer the one that `If-Match` names. Read it again.
     */
    412: Problem;
    /**
     * `uri-too-long`: A part of the path is longer than anything that could exist under it.
     */
    414: Problem;
    /**
     * `unsupported-media-type`: The `Content-Type` is not one this path takes, or the body comes with a `Content-Encoding`.
     */
    415: Problem;
    /**
     * `too-many-requests`: Wait as many seconds as `Retry-After` says.
     */
    429: Problem;
    /**
     * `headers-too-large`: The request line and headers together are longer than 16 KiB.
     */
    431: Problem;
    /**
     * `internal`: A fault of the relay. Tell us the `requestId`.
     */
    500: Problem;
    /**
     * `unavailable`: Something the relay needs is away. Repeat after `Retry-After` seconds, an envelope with the same `id`: it may have been stored, and is then not stored twice. A change of a webhook may have been stored as well: list the webhooks before you repeat it.
     */
    503: Problem;
};

export type RemoveWebhookError = RemoveWebhookErrors[keyof RemoveWebhookErrors];

export type RemoveWebhookResponses = {
    /**
     * It is deleted; what waits for it is cancelled.
     */
    204: void;
};

export type RemoveWebhookResponse = RemoveWebhookResponses[keyof RemoveWebhookResponses];

export type ReadWebhookData = {
    body?: never;
    path: {
        /**
         * Identifier of the webhook, in either letter case.
         */
        id: string;
    };
    query?: never;
    url: '/webhooks/{id}';
};

export type ReadWebhookErrors = {
    /**
     * `malformed-json`: The body is no JSON text as RFC 8259 has it, or it has invalid UTF-8, a name twice in one object, half a surrogate pair, or more than 32 levels. `errors` says where.
     *
     * `invalid-body`: The body is JSON but not what this operation takes. `errors` names each member by its JSON pointer.
     *
     * `invalid-request`: The address, a query parameter, a header or the framing of the request is wrong; `detail` says which.
     */
    400: Problem;
    /**
     * `unauthorized`: No valid credential came with the request. Get a token with `POST /auth/token` and send it as `Authorization: Bearer <token>`; with `error="invalid_token"` in `WWW-Authenticate` the one sent is not valid, or no longer.
     */
    401: Problem;
    /**
     * `insufficient-scope`: The token is valid but does not carry the scope that `WWW-Authenticate` names.
     */
    403: Problem;
    /**
     * `not-found`: There is no such path, or no such resource of yours.
     */
    404: Problem;
    /**
     * `request-timeout`: The request did not arrive in time. Repeat it.
     */
    408: Problem;
    /**
     * `uri-too-long`: A part of the path is longer than anything that could exist under it.
     */
    414: Problem;
    /**
     * `unsupported-media-type`: The `Content-Type` is not one this path takes, or the body comes with a `Content-Encoding`.
     */
    415: Problem;
    /**
     * `too-many-requests`: Wait as many seconds as `Retry-After` says.
     */
    429: Problem;
    /**
     * `headers-too-large`: The request line and headers together are longer than 16 KiB.
     */
    431: Problem;
    /**
     * `internal`: A fault of the relay. Tell us the `requestId`.
     */
    500: Problem;
    /**
     * `unavailable`: Something the relay needs is away. Repeat after `Retry-After` seconds, an envelope with the same `id`: it may have been stored, and is then not stored twice. A change of a webhook may have been stored as well: list the webhooks before you repeat it.
     */
    503: Problem;
};

export type ReadWebhookError = ReadWebhookErrors[keyof ReadWebhookErrors];

export type ReadWebhookResponses = {
    /**
     * The webhook.
     */
    200: WebhookDetails;
};

export type ReadWebhookResponse = ReadWebhookResponses[keyof ReadWebhookResponses];

export type PatchWebhookData = {
    body: WebhookPatch;
    headers?: {
        /**
         * The `ETag` that was read: the change is made only while it is still right.
         */
        'if-match'?: string;
    };
    path: {
        /**
         * Identifier of the webhook, in either letter case.
         */
        id: string;
    };
    query?: never;
    url: '/webhooks/{id}';
};

export type PatchWebhookErrors = {
    /**
     * `malformed-json`: The body is no JSON text as RFC 8259 has it, or it has invalid UTF-8, a name twice in one object, half a surrogate pair, or more than 32 levels. `errors` says where.
     *
     * `invalid-body`: The body is JSON but not what this operation takes. `errors` names each member by its JSON pointer.
     *
     * `invalid-request`: The address, a query parameter, a header or the framing of the request is wrong; `detail` says which.
     */
    400: Problem;
    /**
     * `unauthorized`: No valid credential came with the request. Get a token with `POST /auth/token` and send it as `Authorization: Bearer <token>`; with `error="invalid_token"` in `WWW-Authenticate` the one sent is not valid, or no longer.
     */
    401: Problem;
    /**
     * `insufficient-scope`: The token is valid but does not carry the scope that `WWW-Authenticate` names.
     */
    403: Problem;
    /**
     * `not-found`: There is no such path, or no such resource of yours.
     */
    404: Problem;
    /**
     * `request-timeout`: The request did not arrive in time. Repeat it.
     */
    408: Problem;
    /**
     * `conflict`: The request contradicts what is stored; `detail` and further members say what. Nothing was changed.
     */
    409: Problem;
    /**
     * `precondition-failed`: The resource is no longer the one that `If-Match` names. Read it again.
     */
    412: Problem;
    /**
     * `payload-too-large`: The body is longer than this path takes: 256 KiB for an envelope, 4 MiB or 1,000 envelopes for a batch, 64 KiB elsewhere.
     */
    413: Problem;
    /**
     * `uri-too-long`: A part of the path is longer than anything that could exist under it.
     */
    414: Problem;
    /**
     * `unsupported-media-type`: The `Content-Type` is not one this path takes, or the body comes with a `Content-Encoding`.
     */
    415: Problem;
    /**
     * `too-many-requests`: Wait as many seconds as `Retry-After` says.
     */
    429: Problem;
    /**
     * `headers-too-large`: The request line and headers together are longer than 16 KiB.
     */
    431: Problem;
    /**
     * `internal`: A fault of the relay. Tell us the `requestId`.
     */
    500: Problem;
    /**
     * `unavailable`: Something the relay needs is away. Repeat after `Retry-After` seconds, an envelope with the same `id`: it may have been stored, and is then not stored twice. A change of a webhook may have been stored as well: list the webhooks before you repeat it.
     */
    503: Problem;
};

export type PatchWebhookError = PatchWebhookErrors[keyof PatchWebhookErrors];

export type PatchWebhookResponses = {
    /**
     * The webhook as it is now.
     */
    200: WebhookDetails;
};

export type PatchWebhookResponse = PatchWebhookResponses[keyof PatchWebhookResponses];

export type ListDeliveriesData = {
    body?: never;
    path: {
        /**
         * Identifier of the webhook, in either letter case.
         */
        id: string;
    };
    query?: {
        /**
         * Only deliveries that stand so.
         */
        status?: 'delivered' | 'waiting' | 'dead';
        /**
         * Only those with an `at` of this time or later.
         */
        since?: string;
        /**
         * Only those with an `at` before this time.
         */
        until?: string;
        /**
         * Longest page: 1 to 200.
         */
        limit?: string;
        /**
         * Where the page begins; out of the Link header of the page before.
         */
        cursor?: string;
    };
    url: '/webhooks/{id}/deliveries';
};

export type ListDeliveriesErrors = {
    /**
     * `malformed-json`: The body is no JSON text as RFC 8259 has it, or it has invalid UTF-8, a name twice in one object, half a surrogate pair, or more than 32 levels. `errors` says where.
     *
     * `invalid-body`: The body is JSON but not what this operation takes. `errors` names each member by its JSON pointer.
     *
     * `invalid-request`: The address, a query parameter, a header or the framing of the request is wrong; `detail` says which.
     */
    400: Problem;
    /**
     * `unauthorized`: No valid credential came with the request. Get a token with `POST /auth/token` and send it as `Authorization: Bearer <token>`; with `error="invalid_token"` in `WWW-Authenticate` the one sent is not valid, or no longer.
     */
    401: Problem;
    /**
     * `insufficient-scope`: The token is valid but does not carry the scope that `WWW-Authenticate` names.
     */
    403: Problem;
    /**
     * `not-found`: There is no such path, or no such resource of yours.
     */
    404: Problem;
    /**
     * `request-timeout`: The request did not arrive in time. Repeat it.
     */
    408: Problem;
    /**
     * `uri-too-long`: A part of the path is longer than anything that could exist under it.
     */
    414: Problem;
    /**
     * `unsupported-media-type`: The `Content-Type` is not one this path takes, or the body comes with a `Content-Encoding`.
     */
    415: Problem;
    /**
     * `too-many-requests`: Wait as many seconds as `Retry-After` says.
     */
    429: Problem;
    /**
     * `headers-too-large`: The request line and headers together are longer than 16 KiB.
     */
    431: Problem;
    /**
     * `internal`: A fault of the relay. Tell us the `requestId`.
     */
    500: Problem;
    /**
     * `unavailable`: Something the relay needs is away. Repeat after `Retry-After` seconds, an envelope with the same `id`: it may have been stored, and is then not stored twice. A change of a webhook may have been stored as well: list the webhooks before you repeat it.
     */
    503: Problem;
};

export type ListDeliveriesError = ListDeliveriesErrors[keyof ListDeliveriesErrors];

export type ListDeliveriesResponses = {
    /**
     * The deliveries, newest first.
     */
    200: Deliveries;
};

export type ListDeliveriesResponse = ListDeliveriesResponses[keyof ListDeliveriesResponses];

export type EnableWebhookData = {
    body?: never;
    path: {
        /**
         * Identifier of the webhook, in either letter case.
         */
        id: string;
    };
    query?: never;
    url: '/webhooks/{id}/enable';
};

export type EnableWebhookErrors = {
    /**
     * `malformed-json`: The body is no JSON text as RFC 8259 has it, or it has invalid UTF-8, a name twice in one object, half a surrogate pair, or more than 32 levels. `errors` says where.
     *
     * `invalid-body`: The body is JSON but not what this operation takes. `errors` names each member by its JSON pointer.
     *
     * `invalid-request`: The address, a query parameter, a header or the framing of the request is wrong; `detail` says which.
     */
    400: Problem;
    /**
     * `unauthorized`: No valid credential came with the request. Get a token with `POST /auth/token` and send it as `Authorization: Bearer <token>`; with `error="invalid_token"` in `WWW-Authenticate` the one sent is not valid, or no longer.
     */
    401: Problem;
    /**
     * `insufficient-scope`: The token is valid but does not carry the scope that `WWW-Authenticate` names.
     */
    403: Problem;
    /**
     * `not-found`: There is no such path, or no such resource of yours.
     */
    404: Problem;
    /**
     * `request-timeout`: The request did not arrive in time. Repeat it.
     */
    408: Problem;
    /**
     * `conflict`: The request contradicts what is stored; `detail` and further members say what. Nothing was changed.
     */
    409: Problem;
    /**
     * `uri-too-long`: A part of the path is longer than anything that could exist under it.
     */
    414: Problem;
    /**
     * `unsupported-media-type`: The `Content-Type` is not one this path takes, or the body comes with a `Content-Encoding`.
     */
    415: Problem;
    /**
     * `too-many-requests`: Wait as many seconds as `Retry-After` says.
     */
    429: Problem;
    /**
     * `headers-too-large`: The request line and headers together are longer than 16 KiB.
     */
    431: Problem;
    /**
     * `internal`: A fault of the relay. Tell us the `requestId`.
     */
    500: Problem;
    /**
     * `unavailable`: Something the relay needs is away. Repeat after `Retry-After` seconds, an envelope with the same `id`: it may have been stored, and is then not stored twice. A change of a webhook may have been stored as well: list the webhooks before you repeat it.
     */
    503: Problem;
};

export type EnableWebhookError = EnableWebhookErrors[keyof EnableWebhookErrors];

export type EnableWebhookResponses = {
    /**
     * The webhook as it is now.
     */
    200: WebhookDetails;
};

export type EnableWebhookResponse = EnableWebhookResponses[keyof EnableWebhookResponses];

export type ReplayWebhookData = {
    body?: ReplayRequest;
    path: {
        /**
         * Identifier of the webhook, in either letter case.
         */
        id: string;
    };
    query?: never;
    url: '/webhooks/{id}/replay';
};

export type ReplayWebhookErrors = {
    /**
     * `malformed-json`: The body is no JSON text as RFC 8259 has it, or it has invalid UTF-8, a name twice in one object, half a surrogate pair, or more than 32 levels. `errors` says where.
     *
     * `invalid-body`: The body is JSON but not what this operation takes. `errors` names each member by its JSON pointer.
     *
     * `invalid-request`: The address, a query parameter, a header or the framing of the request is wrong; `detail` says which.
     */
    400: Problem;
    /**
     * `unauthorized`: No valid credential came with the request. Get a token with `POST /auth/token` and send it as `Authorization: Bearer <token>`; with `error="invalid_token"` in `WWW-Authenticate` the one sent is not valid, or no longer.
     */
    401: Problem;
    /**
     * `insufficient-scope`: The token is valid but does not carry the scope that `WWW-Authenticate` names.
     */
    403: Problem;
    /**
     * `not-found`: There is no such path, or no such resource of yours.
     */
    404: Problem;
    /**
     * `request-timeout`: The request did not arrive in time. Repeat it.
     */
    408: Problem;
    /**
     * `conflict`: The request contradicts what is stored; `detail` and further members say what. Nothing was changed.
     */
    409: Problem;
    /**
     * `payload-too-large`: The body is longer than this path takes: 256 KiB for an envelope, 4 MiB or 1,000 envelopes for a batch, 64 KiB elsewhere.
     */
    413: Problem;
    /**
     * `uri-too-long`: A part of the path is longer than anything that could exist under it.
     */
    414: Problem;
    /**
     * `unsupported-media-type`: The `Content-Type` is not one this path takes, or the body comes with a `Content-Encoding`.
     */
    415: Problem;
    /**
     * `too-many-requests`: Wait as many seconds as `Retry-After` says.
     */
    429: Problem;
    /**
     * `headers-too-large`: The request line and headers together are longer than 16 KiB.
     */
    431: Problem;
    /**
     * `internal`: A fault of the relay. Tell us the `requestId`.
     */
    500: Problem;
    /**
     * `unavailable`: Something the relay needs is away. Repeat after `Retry-After` seconds, an envelope with the same `id`: it may have been stored, and is then not stored twice. A change of a webhook may have been stored as well: list the webhooks before you repeat it.
     */
    503: Problem;
};

export type ReplayWebhookError = ReplayWebhookErrors[keyof ReplayWebhookErrors];

export type ReplayWebhookResponses = {
    /**
     * It is ordered, or counted only.
     */
    202: Replay;
};

export type ReplayWebhookResponse = ReplayWebhookResponses[keyof ReplayWebhookResponses];

export type ReadWebhookSecretData = {
    body?: never;
    path: {
        /**
         * Identifier of the webhook, in either letter case.
         */
        id: string;
    };
    query?: never;
    url: '/webhooks/{id}/secret';
};

export type ReadWebhookSecretErrors = {
    /**
     * `malformed-json`: The body is no JSON text as RFC 8259 has it, or it has invalid UTF-8, a name twice in one object, half a surrogate pair, or more than 32 levels. `errors` says where.
     *
     * `invalid-body`: The body is JSON but not what this operation takes. `errors` names each member by its JSON pointer.
     *
     * `invalid-request`: The address, a query parameter, a header or the framing of the request is wrong; `detail` says which.
     */
    400: Problem;
    /**
     * `unauthorized`: No valid credential came with the request. Get a token with `POST /auth/token` and send it as `Authorization: Bearer <token>`; with `error="invalid_token"` in `WWW-Authenticate` the one sent is not valid, or no longer.
     */
    401: Problem;
    /**
     * `insufficient-scope`: The token is valid but does not carry the scope that `WWW-Authenticate` names.
     */
    403: Problem;
    /**
     * `not-found`: There is no such path, or no such resource of yours.
     */
    404: Problem;
    /**
     * `request-timeout`: The request did not arrive in time. Repeat it.
     */
    408: Problem;
    /**
     * `uri-too-long`: A part of the path is longer than anything that could exist under it.
     */
    414: Problem;
    /**
     * `unsupported-media-type`: The `Content-Type` is not one this path takes, or the body comes with a `Content-Encoding`.
     */
    415: Problem;
    /**
     * `too-many-requests`: Wait as many seconds as `Retry-After` says.
     */
    429: Problem;
    /**
     * `headers-too-large`: The request line and headers together are longer than 16 KiB.
     */
    431: Problem;
    /**
     * `internal`: A fault of the relay. Tell us the `requestId`.
     */
    500: Problem;
    /**
     * `unavailable`: Something the relay needs is away. Repeat after `Retry-After` seconds, an envelope with the same `id`: it may have been stored, and is then not stored twice. A change of a webhook may have been stored as well: list the webhooks before you repeat it.
     */
    503: Problem;
};

export type ReadWebhookSecretError = ReadWebhookSecretErrors[keyof ReadWebhookSecretErrors];

export type ReadWebhookSecretResponses = {
    /**
     * The secret, as Standard Webhooks has it.
     */
    200: SigningSecret;
};

export type ReadWebhookSecretResponse = ReadWebhookSecretResponses[keyof ReadWebhookSecretResponses];

export type RotateWebhookSecretData = {
    body?: never;
    path: {
        /**
         * Identifier of the webhook, in either letter case.
         */
        id: string;
    };
    query?: never;
    url: '/webhooks/{id}/secret/rotate';
};

export type RotateWebhookSecretErrors = {
    /**
     * `malformed-json`: The body is no JSON text as RFC 8259 has it, or it has invalid UTF-8, a name twice in one object, half a surrogate pair, or more than 32 levels. `errors` says where.
     *
     * `invalid-body`: The body is JSON but not what this operation takes. `errors` names each member by its JSON pointer.
     *
     * `invalid-request`: The address, a query parameter, a header or the framing of the request is wrong; `detail` says which.
     */
    400: Problem;
    /**
     * `unauthorized`: No valid credential came with the request. Get a token with `POST /auth/token` and send it as `Authorization: Bearer <token>`; with `error="invalid_token"` in `WWW-Authenticate` the one sent is not valid, or no longer.
     */
    401: Problem;
    /**
     * `insufficient-scope`: The token is valid but does not carry the scope that `WWW-Authenticate` names.
     */
    403: Problem;
    /**
     * `not-found`: There is no such path, or no such resource of yours.
     */
    404: Problem;
    /**
     * `request-timeout`: The request did not arrive in time. Repeat it.
     */
    408: Problem;
    /**
     * `uri-too-long`: A part of the path is longer than anything that could exist under it.
     */
    414: Problem;
    /**
     * `unsupported-media-type`: The `Content-Type` is not one this path takes, or the body comes with a `Content-Encoding`.
     */
    415: Problem;
    /**
     * `too-many-requests`: Wait as many seconds as `Retry-After` says.
     */
    429: Problem;
    /**
     * `headers-too-large`: The request line and headers together are longer than 16 KiB.
     */
    431: Problem;
    /**
     * `internal`: A fault of the relay. Tell us the `requestId`.
     */
    500: Problem;
    /**
     * `unavailable`: Something the relay needs is away. Repeat after `Retry-After` seconds, an envelope with the same `id`: it may have been stored, and is then not stored twice. A change of a webhook may have been stored as well: list the webhooks before you repeat it.
     */
    503: Problem;
};

export type RotateWebhookSecretError = RotateWebhookSecretErrors[keyof RotateWebhookSecretErrors];

export type RotateWebhookSecretResponses = {
    /**
     * The new secret.
     */
    200: SigningSecret;
};

export type RotateWebhookSecretResponse = RotateWebhookSecretResponses[keyof RotateWebhookSecretResponses];

export type TestWebhookData = {
    body?: never;
    path: {
        /**
         * Identifier of the webhook, in either letter case.
         */
        id: string;
    };
    query?: never;
    url: '/webhooks/{id}/test';
};

export type TestWebhookErrors = {
    /**
     * `malformed-json`: The body is no JSON text as RFC 8259 has it, or it has invalid UTF-8, a name twice in one object, half a surrogate pair, or more than 32 levels. `errors` says where.
     *
     * `invalid-body`: The body is JSON but not what this operation takes. `errors` names each member by its JSON pointer.
     *
     * `invalid-request`: The address, a query parameter, a header or the framing of the request is wrong; `detail` says which.
     */
    400: Problem;
    /**
     * `unauthorized`: No valid credential came with the request. Get a token with `POST /auth/token` and send it as `Authorization: Bearer <token>`; with `error="invalid_token"` in `WWW-Authenticate` the one sent is not valid, or no longer.
     */
    401: Problem;
    /**
     * `insufficient-scope`: The token is valid but does not carry the scope that `WWW-Authenticate` names.
     */
    403: Problem;
    /**
     * `not-found`: There is no such path, or no such resource of yours.
     */
    404: Problem;
    /**
     * `request-timeout`: The request did not arrive in time. Repeat it.
     */
    408: Problem;
    /**
     * `uri-too-long`: A part of the path is longer than anything that could exist under it.
     */
    414: Problem;
    /**
     * `unsupported-media-type`: The `Content-Type` is not one this path takes, or the body comes with a `Content-Encoding`.
     */
    415: Problem;
    /**
     * `too-many-requests`: Wait as many seconds as `Retry-After` says.
     */
    429: Problem;
    /**
     * `headers-too-large`: The request line and headers together are longer than 16 KiB.
     */
    431: Problem;
    /**
     * `internal`: A fault of the relay. Tell us the `requestId`.
     */
    500: Problem;
    /**
     * `unavailable`: Something the relay needs is away. Repeat after `Retry-After` seconds, an envelope with the same `id`: it may have been stored, and is then not stored twice. A change of a webhook may have been stored as well: list the webhooks before you repeat it.
     */
    503: Problem;
};

export type TestWebhookError = TestWebhookErrors[keyof TestWebhookErrors];

export type TestWebhookResponses = {
    /**
     * What became of the attempt.
     */
    200: TestResult;
};

export type TestWebhookResponse = TestWebhookResponses[keyof TestWebhookResponses];

export type ReceiveTaskCreatedWebhookPayload = Envelope;

export type ReceiveTaskCreatedWebhookRequest = {
    body: ReceiveTaskCreatedWebhookPayload;
    key: 'task.created';
    path?: never;
    query?: never;
};

export type ReceiveTaskUpdatedWebhookPayload = Envelope;

export type ReceiveTaskUpdatedWebhookRequest = {
    body: ReceiveTaskUpdatedWebhookPayload;
    key: 'task.updated';
    path?: never;
    query?: never;
};

export type ReceiveTaskDeletedWebhookPayload = Envelope;

export type ReceiveTaskDeletedWebhookRequest = {
    body: ReceiveTaskDeletedWebhookPayload;
    key: 'task.deleted';
    path?: never;
    query?: never;
};

export type ReceiveRecommendationCreatedWebhookPayload = Envelope;

export type ReceiveRecommendationCreatedWebhookRequest = {
    body: ReceiveRecommendationCreatedWebhookPayload;
    key: 'recommendation.created';
    path?: never;
    query?: never;
};

export type ReceiveRecommendationUpdatedWebhookPayload = Envelope;

export type ReceiveRecommendationUpdatedWebhookRequest = {
    body: ReceiveRecommendationUpdatedWebhookPayload;
    key: 'recommendation.updated';
    path?: never;
    query?: never;
};

export type ReceiveRecommendationDeletedWebhookPayload = Envelope;

export type ReceiveRecommendationDeletedWebhookRequest = {
    body: ReceiveRecommendationDeletedWebhookPayload;
    key: 'recommendation.deleted';
    path?: never;
    query?: never;
};

export type ReceivePlanCreatedWebhookPayload = Envelope;

export type ReceivePlanCreatedWebhookRequest = {
    body: ReceivePlanCreatedWebhookPayload;
    key: 'plan.created';
    path?: never;
    query?: never;
};

export type ReceivePlanUpdatedWebhookPayload = Envelope;

export type ReceivePlanUpdatedWebhookRequest = {
    body: ReceivePlanUpdatedWebhookPayload;
    key: 'plan.updated';
    path?: never;
    query?: never;
};

export type ReceivePlanCompletedWebhookPayload = Envelope;

export type ReceivePlanCompletedWebhookRequest = {
    body: ReceivePlanCompletedWebhookPayload;
    key: 'plan.completed';
    path?: never;
    query?: never;
};

export type ReceiveMessageCreatedWebhookPayload = Envelope;

export type ReceiveMessageCreatedWebhookRequest = {
    body: ReceiveMessageCreatedWebhookPayload;
    key: 'message.created';
    path?: never;
    query?: never;
};

export type ReceiveNotificationCompletedWebhookPayload = Envelope;

export type ReceiveNotificationCompletedWebhookRequest = {
    body: ReceiveNotificationCompletedWebhookPayload;
    key: 'notification.completed';
    path?: never;
    query?: never;
};

export type ReceiveTaxReturnCreatedWebhookPayload = Envelope;

export type ReceiveTaxReturnCreatedWebhookRequest = {
    body: ReceiveTaxReturnCreatedWebhookPayload;
    key: 'tax_return.created';
    path?: never;
    query?: never;
};

export type ReceiveTaxReturnUpdatedWebhookPayload = Envelope;

export type ReceiveTaxReturnUpdatedWebhookRequest = {
    body: ReceiveTaxReturnUpdatedWebhookPayload;
    key: 'tax_return.updated';
    path?: never;
    query?: never;
};

export type ReceiveTaxReturnFiledWebhookPayload = Envelope;

export type ReceiveTaxReturnFiledWebhookRequest = {
    body: ReceiveTaxReturnFiledWebhookPayload;
    key: 'tax_return.filed';
    path?: never;
    query?: never;
};
