import { expect, it } from 'vitest';
import { qrPath } from '../../console/qr.ts';

it('draws a QR code with quiet modules around it', () => {
  const { path, size } = qrPath('otpauth://totp/gatehouse-dev:admin?secret=JBSWY3DPEHPK3PXP');
  const runs = [...path.matchAll(/M(\d+) (\d+)h(\d+)v1h-\d+z/g)].map((run) =>
    run.slice(1).map(Number),
  );

  // The upper edges of the finder patterns are seven modules wide.
  expect(runs[0]).toEqual([4, 4, 7]);
  expect((size - 8 - 21) % 4).toBe(0);
  expect(runs.every(([x = 0, y = 0, width = 0]) => x >= 4 && x + width <= size - 4 && y >= 4)).toBe(
    true,
  );
});
