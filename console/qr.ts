import { correction, generate } from 'lean-qr/nano';

/** Quiet modules around the code, which readers need (ISO/IEC 18004). */
const MARGIN = 4;

export function qrPath(text: string): { readonly path: string; readonly size: number } {
  const code = generate(text, { minCorrectionLevel: correction.M });
  const runs: string[] = [];
  for (let y = 0; y < code.size; y += 1)
    for (let x = 0; x < code.size; x += 1) {
      const start = x;
      while (code.get(x, y)) x += 1;
      if (x > start) runs.push(`M${start + MARGIN} ${y + MARGIN}h${x - start}v1h-${x - start}z`);
    }
  return { path: runs.join(''), size: code.size + 2 * MARGIN };
}
