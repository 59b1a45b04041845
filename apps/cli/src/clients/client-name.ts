import { InvalidArgumentError } from 'commander';

/** A client's name: for people to recognise it by, so it must be readable. */
export function clientName(text: string): string {
  const name = text.trim();
  if (name === '' || name.length > 200 || /\p{Cc}/u.test(name))
    throw new InvalidArgumentError('A name has 1 to 200 characters and no control characters.');
  return name;
}
