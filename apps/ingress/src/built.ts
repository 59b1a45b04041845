import type { Abstract, FactoryProvider } from '@nestjs/common';

/** Injection token of a constructor parameter: its class, or a symbol. */
type TokenOf<Each> = symbol | Abstract<Each>;

/** Returns a provider for a class of a lib; these tokens provide the arguments of its constructor. */
export const built = <Args extends unknown[], Made>(
  type: new (...args: Args) => Made,
  ...inject: { [Index in keyof Args]: TokenOf<Args[Index]> }
): FactoryProvider<Made> => ({ provide: type, useFactory: (...args: Args) => new type(...args), inject });
