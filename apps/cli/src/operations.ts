import { operationsEnv } from '@relay/config';
import { OperationsClient } from '@relay/operations-client';
import { settingsOf } from './settings.js';
import type { Shell } from './shell.js';

/** The operations app, for commands that open neither Redis nor Kafka. @throws Error when the operator is not named */
export function operationsOf(shell: Shell): OperationsClient {
  const settings = settingsOf(shell, operationsEnv);
  const { OPERATIONS_URL: url, OPERATOR_CLIENT_ID: clientId, OPERATOR_CLIENT_SECRET: clientSecret } = settings;
  if (clientId === undefined || clientSecret === undefined)
    throw new Error(
      `OPERATOR_CLIENT_ID and OPERATOR_CLIENT_SECRET are not set: \`relay admin clients create operator NAME --role admin\`, with the settings of the relay, prints both. OPERATIONS_URL names the operations app that this command asks, ${url} now`,
    );
  return new OperationsClient({ url, clientId, clientSecret });
}
