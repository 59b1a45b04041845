import type { OperationText } from '@relay/openapi';
import { Login, OperatorNow } from './session-answers.js';

const tag = 'Session';
const answer = { description: 'Who asks.', content: { schema: OperatorNow } };

export const enter: OperationText = {
  id: 'enterConsole',
  tag,
  summary: 'Open a session of the console',
  description:
    'The answer sets a cookie that only this site sends and no script reads: `__Host-relay_console` with `Secure` where the page, by its `Origin`, came by HTTPS, else `relay_console`. The session ends after 30 minutes in which nobody does anything, after 12 hours, by `DELETE /session`, and with the secret that opened it. An operator has 10 sessions at most: an eleventh ends the one that was used least recently.',
  body: { isRequired: true, schema: Login, example: { clientId: 'operator_0Zt1', clientSecret: 'relay_sk_…' } },
  answer: { ...answer, headers: { 'Set-Cookie': 'The session.' } },
  problems: ['unauthorized', 'insufficient-scope', 'too-many-requests', 'unavailable'],
};

export const readSessionText: OperationText = { id: 'readSession', tag, summary: 'Read who asks', answer };

export const leave: OperationText = {
  id: 'leaveConsole',
  tag,
  summary: 'End the session of the console',
  description:
    'The one of the cookie, from a page of this site alone, as every change by a session; without a cookie nothing is done.',
  answer: { description: 'It has ended.', headers: { 'Set-Cookie': 'None any more.' } },
  problems: ['insufficient-scope', 'unavailable'],
};
