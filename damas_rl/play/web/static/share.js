// Positions and games as text that anybody with this page can open: FEN, and links that hold all they show.

/** The FEN of a position. */
export function fenOf(pieces, color) {
  const listed = side => Object.entries(pieces).filter(([, piece]) => piece.toUpperCase() === side)
    .map(([square, piece]) => (piece === side ? `K${square}` : square)).join(",");
  return `${color}:W${listed("W")}:B${listed("B")}`;
}
