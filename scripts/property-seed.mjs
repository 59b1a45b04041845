// Every property test draws its examples from one seed, so a commit passes or fails alike wherever it is tested.
// PROPERTY_SEED=random looks at others; a failure prints the seed it used.
import * as fc from 'fast-check';

const { PROPERTY_SEED = '20261120' } = process.env;
fc.configureGlobal({ seed: PROPERTY_SEED === 'random' ? Date.now() % 2 ** 31 : Number(PROPERTY_SEED) });
