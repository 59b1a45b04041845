/** A client cannot be created or changed this way; the message gives the operator the reason. */
export class ClientRefused extends Error {
  override readonly name = 'ClientRefused';
}
