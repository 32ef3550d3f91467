/**
 * The key under which an e-mail address is unique: equal for all spellings that some mail system or Unicode folding
 * could take for the same address. Lower, upper and lower again folds what has no single other case (ß, dotless i, the
 * Kelvin sign); never by a locale's rules, which would differ from machine to machine.
 */
export function emailKey(address: string): string {
  return address.normalize('NFKC').toLowerCase().toUpperCase().toLowerCase().normalize('NFKC');
}
