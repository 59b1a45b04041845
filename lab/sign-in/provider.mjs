// node provider.mjs PORT CONSOLE_URL: an identity provider with the people of `roles`, new keys at each start, and ID tokens of a
// minute. Any password is right.
import { generateKeyPairSync } from 'node:crypto';
import { Provider } from 'oidc-provider';

const [port, consoleUrl] = process.argv.slice(2);
const roles = { vera: ['staff'], ada: ['staff', 'relay-admins'], norbert: [] };
const key = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey.export({ format: 'jwk' });

const provider = new Provider(`http://127.0.0.1:${port}`, {
  clients: [
    {
      client_id: 'console',
      client_secret: 'the secret of the console',
      redirect_uris: [`${consoleUrl}/sign-in/callback`],
      post_logout_redirect_uris: [`${consoleUrl}/`],
    },
  ],
  jwks: { keys: [{ ...key, use: 'sig' }] },
  cookies: { keys: ['any'] },
  claims: { openid: ['sub', 'roles'], email: ['email', 'email_verified'], profile: ['preferred_username'] },
  conformIdTokenClaims: false,
  ttl: { IdToken: 60 },
  findAccount: (_, accountId) => ({
    accountId,
    claims: () => ({ sub: accountId, roles: roles[accountId], email: `${accountId}@example.com` }),
  }),
});
provider.listen(Number(port), '127.0.0.1', () => console.log('listens'));
