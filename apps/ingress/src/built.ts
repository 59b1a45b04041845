import type { Abstract, FactoryProvider } from '@nestjs/common';

/** Stands for what a parameter of a constructor takes: its class, or a symbol. */
type TokenOf<Each> = symbol | Abstract<Each>;

/** Provides a class of a lib, whose constructor takes what these tokens stand for. */
export const built = <Args extends unknown[], Made>(
  type: new (...args: Args) => Made,
  ...inject: { [Index in keyof Args]: TokenOf<Args[Index]> }
): FactoryProvider<Made> => ({ provide: type, useFactory: (...args: Args) => new type(...args), inject });
