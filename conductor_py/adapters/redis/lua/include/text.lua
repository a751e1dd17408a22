-- Is it UTF-8? What goes by a name that is none cannot be read by anybody who is handed it.
local SEQUENCES = {'[\194-\223][\128-\191]', '\224[\160-\191][\128-\191]', '[\225-\236\238\239][\128-\191][\128-\191]',
  '\237[\128-\159][\128-\191]', '\240[\144-\191][\128-\191][\128-\191]', '[\241-\243][\128-\191][\128-\191][\128-\191]',
  '\244[\128-\143][\128-\191][\128-\191]'}

local function is_text(name)
  if not string.find(name, '[\128-\255]') then
    return true
  end
  for _, sequence in ipairs(SEQUENCES) do
    name = string.gsub(name, sequence, '.')
  end
  return not string.find(name, '[\128-\255]')
end

local function must_be_text(name)
  if not is_text(name) then
    error('its name is no text', 0)
  end
end
