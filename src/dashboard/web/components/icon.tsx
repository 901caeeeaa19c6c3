/** Line icons on a 16 grid. */
const PATHS = {
  activity: 'M2 8h3l2-5 3 10 2-5h2',
  timer: 'M8 4.500V8l2.500 1.500M8 14A6 6 0 1 0 8 2a6 6 0 0 0 0 12Z',
  event: 'M9 1.500 3.500 9H8l-1 5.500L12.500 7H8l1-5.500Z',
  queue: 'M2.500 4h11M2.500 8h11M2.500 12h7',
  child: 'M4 2.500v7a3 3 0 0 0 3 3h5M9.500 10l2.500 2.500L9.500 15',
  detached: 'M6 3H3v10h10v-3M9 2.500h4.500V7M13.500 2.500 7 9',
  flow: 'M3 4.500h6a3.500 3.500 0 0 1 0 7H6M8.500 9 6 11.500 8.500 14',
  status: 'M3 13V9M6.500 13V5M10 13V7.500M13.500 13V3',
  key: 'M10.500 9a3.500 3.500 0 1 0-3.300-2.300L2.500 11.500V14H5v-1.500h1.500V11H8l1.200-2.200c.4.100.8.200 1.300.200Z',
  search: 'M7 12A5 5 0 1 0 7 2a5 5 0 0 0 0 10Zm7 2-3.400-3.400',
  sun: 'M8 11a3 3 0 1 0 0-6 3 3 0 0 0 0 6ZM8 1v1.500M8 13.500V15M1 8h1.500M13.500 8H15M3 3l1 1M12 12l1 1M13 3l-1 1M4 12l-1 1',
  moon: 'M13.500 9.500A6 6 0 0 1 6.500 2.500a6 6 0 1 0 7 7Z',
  auto: 'M8 14A6 6 0 1 0 8 2a6 6 0 0 0 0 12Zm0 0V2',
  copy: 'M5.500 5.500v-3h8v8h-3M2.500 5.500h8v8h-8z',
  check: 'm3 8.500 3.500 3.500L13 4.500',
  cross: 'm4 4 8 8M12 4l-8 8',
  download: 'M8 2v8M4.500 7 8 10.500 11.500 7M2.500 13.500h11',
  retry: 'M13 8a5 5 0 1 1-1.500-3.500L13 6M13 2.500V6H9.500',
  stop: 'M8 14A6 6 0 1 0 8 2a6 6 0 0 0 0 12ZM4 4l8 8',
  trash: 'M2.500 4h11M6 4V2.500h4V4M4 4l.7 9.500h6.600L12 4M6.700 6.500v4.500M9.300 6.500v4.500',
  warning: 'M8 2 1.500 13.500h13L8 2Zm0 5v3M8 11.800v.1',
  chevron: 'm6 3.500 4.500 4.500L6 12.500',
  help: 'M6 6a2 2 0 1 1 2.800 1.900c-.5.200-.8.600-.8 1.100v.5M8 11.800v.1M8 14.500A6.500 6.500 0 1 0 8 1.500a6.500 6.500 0 0 0 0 13Z',
  empty: 'M2 9.500 4 3h8l2 6.500V13H2zM2 9.500h3.500l1 1.500h3l1-1.500H14',
} as const;

export type IconName = keyof typeof PATHS;

export function Icon({ name, size = 16 }: { name: IconName; size?: number }) {
  return (
    <svg class="icon" width={size} height={size} viewBox="0 0 16 16" aria-hidden="true">
      <path d={PATHS[name]} />
    </svg>
  );
}
