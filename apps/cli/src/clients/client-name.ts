import { InvalidArgumentError } from 'commander';

/** The name of a client. People recognise the client by it, so it must be readable. */
export function clientName(text: string): string {
  const name = text.trim();
  if (name === '' || name.length > 200 || /\p{Cc}/u.test(name))
    throw new InvalidArgumentError('A name has 1 to 200 characters and no control characters.');
  return name;
}
