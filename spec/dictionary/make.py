#!/usr/bin/env python3
"""Makes `head.dict`, the zstd dictionary for head copies and sections (archive.md, section 1).

Its text is the vocabulary of conventions (CF, ACDD, COARDS, CMIP, AMBER, ANDI/MS, Exodus, SCRIP, UGRID, MPAS, WRF, ROMS, CAM) and of the
programs that write classic files, laid out as classic headers have it; its tables of frequencies are those of the headers of the files
given. The dictionary is part of the format: it was made once, and this shows where each byte came from.

    make.py -o head.dict FILE.nc ...      # made from the files of Debian's ferret-datasets 7.6 and libncarg-data 6.6.2
"""

import argparse
import ctypes
import ctypes.util
import struct
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "reference"))
import nc3z_ref  # noqa: E402

DICTIONARY_ID = 50_017
LEVEL = 19

CHAR, SHORT, INT, FLOAT, DOUBLE = 2, 3, 4, 5, 6


def padded(data):
    return data + bytes(-len(data) % 4)


def name(text):
    return struct.pack(">I", len(text)) + padded(text.encode())


def text(key, value):
    return name(key) + struct.pack(">II", CHAR, len(value)) + padded(value.encode())


def number(key, kind, value):
    packed = {SHORT: ">h", INT: ">i", FLOAT: ">f", DOUBLE: ">d"}[kind]
    return name(key) + struct.pack(">II", kind, 1) + padded(struct.pack(packed, value))


# Rare things first: what stands at the end is nearest to the header, and cheapest to refer to.

# Names of the file types of other fields: AMBER trajectories, mass spectra (ANDI), meshes (Exodus, UGRID, SCRIP, MPAS), WRF, ROMS.
FIELDS = [
    # AMBER 1.0
    b"".join([text("title", ""), text("application", "AMBER"), text("program", "sander"), text("programVersion", "9.0"),
              text("Conventions", "AMBER"), text("ConventionVersion", "1.0")]),
    b"".join(name(n) for n in ("frame", "spatial", "atom", "cell_spatial", "cell_angular", "label", "coordinates", "velocities",
                               "cell_lengths", "cell_angles", "forces", "temp0")),
    text("units", "picosecond") + text("units", "angstrom") + text("units", "degree") + text("units", "angstrom/picosecond"),
    number("scale_factor", FLOAT, 20.455),
    # ANDI/MS (ASTM E2078)
    b"".join(name(n) for n in ("_2_byte_string", "_4_byte_string", "_8_byte_string", "_16_byte_string", "_32_byte_string",
                               "_64_byte_string", "_128_byte_string", "_255_byte_string", "range", "point_number", "scan_number",
                               "error_number", "instrument_number", "instrument_name", "instrument_id", "instrument_mfr",
                               "instrument_model", "instrument_serial_no", "instrument_sw_version", "error_log", "a_d_sampling_rate",
                               "a_d_coaddition_factor", "scan_acquisition_time", "scan_duration", "inter_scan_time", "resolution",
                               "actual_scan_number", "total_intensity", "mass_range_min", "mass_range_max", "time_range_min",
                               "time_range_max", "scan_index", "point_count", "flag_count", "mass_values", "time_values",
                               "intensity_values")),
    b"".join(text(k, v) for k, v in (("dataset_completeness", "C1+C2"), ("ms_template_revision", "1.0.1"), ("netcdf_revision", "2.3.2"),
                                     ("languages", "English"), ("administrative_comments", ""), ("dataset_origin", ""),
                                     ("experiment_date_time_stamp", ""), ("netcdf_file_date_time_stamp", ""), ("experiment_title", ""),
                                     ("experiment_type", "Centroided Mass Spectrum"), ("test_separation_type", "No Chromatography"),
                                     ("test_ionization_mode", "Electron Impact"), ("test_ionization_polarity", "Positive Polarity"),
                                     ("test_detector_type", "Electron Multiplier"), ("test_scan_function", "Mass Scan"),
                                     ("raw_data_mass_format", "Float"), ("raw_data_intensity_format", "Float"), ("units", "M/Z"),
                                     ("units", "Arbitrary Intensity Units"))),
    # Exodus II
    b"".join(name(n) for n in ("len_string", "len_name", "len_line", "four", "num_info", "num_qa_rec", "num_dim", "num_nodes", "num_elem",
                               "num_el_blk", "num_side_sets", "num_node_sets", "num_el_in_blk1", "num_nod_per_el1", "num_side_ss1",
                               "num_df_ss1", "num_nod_ns1", "num_nod_var", "num_elem_var", "num_glo_var", "time_step", "time_whole",
                               "qa_records", "info_records", "coor_names", "coordx", "coordy", "coordz", "eb_names", "eb_status",
                               "eb_prop1", "ss_names", "ss_status", "ss_prop1", "ns_names", "ns_status", "ns_prop1", "connect1",
                               "elem_map", "elem_num_map", "node_num_map", "elem_ss1", "side_ss1", "node_ns1", "dist_fact_ns1",
                               "name_nod_var", "name_elem_var", "name_glo_var", "vals_nod_var1", "vals_elem_var1eb1", "vals_glo_var")),
    number("api_version", FLOAT, 5.0) + number("version", FLOAT, 5.0) + number("floating_point_word_size", INT, 8)
    + number("file_size", INT, 1) + number("maximum_name_length", INT, 32) + number("int64_status", INT, 0)
    + text("elem_type", "HEX8") + text("elem_type", "QUAD4") + text("name", "ID"),
    # SCRIP
    b"".join(name(n) for n in ("grid_size", "grid_corners", "grid_rank", "grid_dims", "grid_center_lat", "grid_center_lon", "grid_imask",
                               "grid_area", "grid_corner_lat", "grid_corner_lon", "src_grid_size", "dst_grid_size", "src_address",
                               "dst_address", "remap_matrix", "num_links", "num_wgts", "n_a", "n_b", "n_s", "xc_a", "yc_a", "mask_a",
                               "area_a", "frac_a", "col", "row", "S")) + text("units", "radians") + text("units", "unitless"),
    # MPAS
    b"".join(name(n) for n in ("nCells", "nEdges", "nVertices", "maxEdges", "maxEdges2", "TWO", "vertexDegree", "nVertLevels",
                               "nVertLevelsP1", "StrLen", "latCell", "lonCell", "xCell", "yCell", "zCell", "indexToCellID", "latEdge",
                               "lonEdge", "latVertex", "lonVertex", "cellsOnEdge", "nEdgesOnCell", "edgesOnCell", "edgesOnEdge",
                               "weightsOnEdge", "dvEdge", "dcEdge", "angleEdge", "areaCell", "areaTriangle", "cellsOnCell",
                               "verticesOnCell", "verticesOnEdge", "edgesOnVertex", "cellsOnVertex", "kiteAreasOnVertex",
                               "meshDensity", "xtime", "bottomDepth", "layerThickness", "temperature", "salinity", "normalVelocity"))
    + text("on_a_sphere", "YES") + text("mesh_id", "") + text("core_name", "ocean") + text("model_name", "mpas"),
    # UGRID
    text("cf_role", "mesh_topology") + number("topology_dimension", INT, 2) + text("node_coordinates", "Mesh2_node_x Mesh2_node_y")
    + text("face_node_connectivity", "Mesh2_face_nodes") + text("edge_node_connectivity", "Mesh2_edge_nodes")
    + text("edge_coordinates", "Mesh2_edge_x Mesh2_edge_y") + text("face_coordinates", "Mesh2_face_x Mesh2_face_y")
    + text("face_edge_connectivity", "") + text("mesh", "Mesh2") + text("location", "node") + text("location", "face")
    + number("start_index", INT, 1) + text("cf_role", "face_node_connectivity") + text("cf_role", "timeseries_id")
    + text("cf_role", "profile_id") + text("cf_role", "trajectory_id") + text("featureType", "timeSeries")
    + text("featureType", "profile") + text("featureType", "trajectory") + text("sample_dimension", "obs")
    + text("instance_dimension", "station"),
    # WRF
    b"".join(name(n) for n in ("DateStrLen", "west_east", "south_north", "bottom_top", "west_east_stag", "south_north_stag",
                               "bottom_top_stag", "soil_layers_stag", "Times", "XLAT", "XLONG", "XTIME", "PSFC", "HGT", "LANDMASK",
                               "QVAPOR", "RAINC", "RAINNC", "SWDOWN", "TSK", "ZNU", "ZNW"))
    + number("FieldType", INT, 104) + text("MemoryOrder", "XY ") + text("MemoryOrder", "XYZ") + text("description", "")
    + text("units", "") + text("stagger", "X") + text("stagger", "") + text("coordinates", "XLONG XLAT XTIME")
    + text("coordinates", "XLONG XLAT") + text("TITLE", " OUTPUT FROM WRF V3.9 MODEL") + text("START_DATE", "2000-01-01_00:00:00")
    + text("SIMULATION_START_DATE", "2000-01-01_00:00:00") + text("GRIDTYPE", "C") + text("MMINLU", "USGS")
    + b"".join(number(k, INT, 1) for k in ("WEST-EAST_GRID_DIMENSION", "SOUTH-NORTH_GRID_DIMENSION", "BOTTOM-TOP_GRID_DIMENSION",
                                           "MP_PHYSICS", "RA_LW_PHYSICS", "SF_SURFACE_PHYSICS", "CU_PHYSICS", "MAP_PROJ"))
    + b"".join(number(k, FLOAT, 0.0) for k in ("DX", "DY", "DT", "CEN_LAT", "CEN_LON", "TRUELAT1", "TRUELAT2", "STAND_LON")),
    # ROMS
    b"".join(name(n) for n in ("xi_rho", "xi_u", "xi_v", "xi_psi", "eta_rho", "eta_u", "eta_v", "eta_psi", "s_rho", "s_w", "ocean_time",
                               "lon_rho", "lat_rho", "lon_u", "lat_u", "lon_v", "lat_v", "mask_rho", "mask_u", "mask_v", "angle",
                               "theta_s", "theta_b", "Tcline", "Cs_r", "Cs_w", "zeta", "ubar", "vbar", "temp", "salt"))
    + text("field", "temperature, scalar, series") + text("time", "ocean_time") + text("coordinates", "lon_rho lat_rho s_rho ocean_time")
    + text("long_name", "longitude of RHO-points") + text("long_name", "latitude of RHO-points") + text("units", "meter second-1")
    + text("units", "meter") + text("units", "Celsius") + text("units", "nondimensional") + text("standard_name", "ocean_s_coordinate_g2")
    + text("formula_terms", "s: s_rho C: Cs_r eta: zeta depth: h depth_c: hc"),
    # CAM, E3SM
    b"".join(name(n) for n in ("ncol", "ilev", "hyam", "hybm", "hyai", "hybi", "P0", "nbnd", "date", "datesec", "date_written",
                               "time_written", "ndbase", "nsbase", "nbdate", "mdt", "ntrm", "gw", "slat", "slon", "w_stag", "chars"))
    + number("mdims", INT, 1) + text("long_name", "hybrid level at midpoints (1000*(A+B))")
    + text("standard_name", "atmosphere_hybrid_sigma_pressure_coordinate") + text("formula_terms", "a: hyam b: hybm p0: P0 ps: PS")
    + text("long_name", "hybrid A coefficient at layer midpoints") + text("units", "kg/kg") + text("units", "fraction")
    + text("case", "") + text("logname", "") + text("host", "") + text("initial_file", "") + text("topography_file", ""),
]

# Attributes of files: CF, ACDD, CMIP, the tools that write them.
FILE = [
    ("keywords", ""), ("keywords_vocabulary", "GCMD Science Keywords"), ("id", ""), ("naming_authority", ""), ("acknowledgement", ""),
    ("license", "CC BY 4.0"), ("standard_name_vocabulary", "CF Standard Name Table v70"), ("date_created", "2010-01-01T00:00:00Z"),
    ("date_modified", "2010-01-01T00:00:00Z"), ("creator_name", ""), ("creator_email", ""), ("creator_url", "http://www."),
    ("publisher_name", ""), ("publisher_email", ""), ("project", ""), ("processing_level", ""), ("geospatial_lat_units", "degrees_north"),
    ("geospatial_lon_units", "degrees_east"), ("time_coverage_start", "2000-01-01T00:00:00Z"),
    ("time_coverage_end", "2000-12-31T00:00:00Z"), ("time_coverage_resolution", "P1D"), ("time_coverage_duration", "P1Y"),
    ("cdm_data_type", "Grid"), ("Metadata_Conventions", "Unidata Dataset Discovery v1.0"), ("uuid", ""), ("platform", ""),
    ("sensor", ""), ("instrument", ""), ("product_version", "1.0"), ("file_quality_level", ""), ("start_time", ""), ("stop_time", ""),
    ("activity_id", "CMIP"), ("experiment_id", "historical"), ("institute_id", ""), ("model_id", ""), ("forcing", ""),
    ("parent_experiment_id", "piControl"), ("parent_experiment_rip", "r1i1p1"), ("initialization_method", "1"), ("tracking_id", "hdl:21.14100/"),
    ("product", "model-output"), ("frequency", "mon"), ("modeling_realm", "atmos"), ("table_id", "Table Amon"), ("variant_label", "r1i1p1f1"),
    ("grid_label", "gn"), ("nominal_resolution", "100 km"), ("mip_era", "CMIP6"), ("source_id", ""), ("source_type", "AOGCM"),
    ("realm", "atmos"), ("sub_experiment_id", "none"), ("variable_id", ""), ("cmor_version", "2.9.1"), ("data_specs_version", "01.00.31"),
    ("physics_version", "1"), ("realization", "1"), ("driving_model_id", ""), ("CORDEX_domain", "EUR-11"), ("contact", ""),
    ("creation_date", "2010-01-01T00:00:00Z"), ("experiment", "historical"), ("author", ""), ("summary", ""), ("platform", "Model"),
    ("dataset_title", ""), ("description", ""), ("comment", ""), ("References", "http://www.esrl.noaa.gov/psd/data/gridded/data.ncep.reanalysis.html"),
    ("references", "http://www."), ("source", ""), ("institution", ""), ("institution", "NOAA"), ("title", ""), ("file_name", ""), ("filename", ""),
    ("history", "Created by FERRET V"), ("history", "PyFerret V7.5 (optimized) "), ("history", "Translated to CF-1.0 Conventions by Netcdf-Java CDM (NetCDF-CF-Writer)\n"),
    ("history", "GRIB-to-CDM+CF via cfgrib-0.9.10/ecCodes-2.23.0 with {\"source\": \""), ("GRIB_centre", "ecmf"),
    ("GRIB_centreDescription", "European Centre for Medium-Range Weather Forecasts"), ("GRIB_subCentre", ""),
    ("institution", "European Centre for Medium-Range Weather Forecasts"), ("history", "2010-01-01 00:00:00 GMT by grib_to_netcdf-2.23.0: "),
    ("history", "Mon Jan 01 00:00:00 2018: cdo -f nc copy "), ("history", "Tue Feb 12 10:00:00 2013: ncks -d time,0 -v "), ("nco_openmp_thread_number", ""),
    ("NCO", "netCDF Operators version 4.7.5 (Homepage = http://nco.sf.net, Code = http://github.com/nco/nco)"), ("NCO", "\"4.5.4\""),
    ("CDI", "Climate Data Interface version 1.9.8 (https://mpimet.mpg.de/cdi)"), ("CDO", "Climate Data Operators version 1.9.8 (https://mpimet.mpg.de/cdo)"),
    ("conventions", "COARDS"), ("Conventions", "COARDS"), ("Conventions", "COARDS, CF-1.0"), ("Conventions", "CF-1.8 ACDD-1.3"),
    ("Conventions", "CF-1.7 CMIP-6.2"), ("Conventions", "CF-1.5"), ("Conventions", "CF-1.4"), ("Conventions", "CF-1.0"), ("Conventions", "CF-1.6"),
]

# Names of dimensions and variables.
NAMES = """
StrLen strlen string_length nchar record recNum obs station station_id profile trajectory ensemble member number realization forecast_reference_time
surface isobaric height_above_ground altitude elevation wind_speed wind_dir pressure temperature humidity precip precipitation
bnds bounds nv vertices corners ncells cell node face edge nlat nlon nlev ni nj ncol nrec lat_bnds lon_bnds lev_bnds
time_bnds time_bounds climatology_bounds bounds_lat bounds_lon rlat rlon rotated_pole crs projection lambert_conformal Lambert_Conformal
X Y Z T TIME LAT LON DEPTH LATITUDE LONGITUDE XAX YAX ZAX TAX TIME1 SST UWND VWND AIRT TEMP SALT ROSE MASK areacella areacello orog sftlf
uwnd vwnd air hgt shum rhum slp sst pr tas tasmin tasmax psl ps ts ua va ta zg hus hur uas vas tos sos thetao so uo vo zos siconc clt rsds rlds
msl u10 v10 t2m d2m tp sp z500 u v w t q r z p h
x y i j k xc yc level lev plev isobaricInhPa height depth time latitude longitude lat lon
""".split()

# Attributes of variables.
VARIABLE = [
    ("valid_time", ""), ("invert", ""), ("point_spacing", "even"), ("modulo", " "), ("time_origin", "01-JAN-1900 00:00:00"), ("time_origin", "1-JAN-0000 00:00:00"),
    ("orig_file_axname", "TIME"), ("edges", ""), ("climatology", "climatology_bounds"), ("external_variables", "areacella"), ("history", "From "), ("long_name_mod", ""),
    ("direction", "north"), ("original_name", ""), ("original_units", ""), ("associated_files", "baseURL: http://cmip-pcmdi.llnl.gov/CMIP5/dataLocation"), ("code", ""), ("table", ""),
    ("grid_type", "gaussian"), ("grid_type", "unstructured"), ("CDI_grid_type", "unstructured"), ("param", "1.1.0"), ("statistic", "Mean"), ("parent_stat", "Other"),
    ("level_desc", "Surface"), ("var_desc", "Air temperature"), ("dataset", "NCEP Reanalysis"), ("delta_t", "0000-00-01 00:00:00"), ("avg_period", "0000-01-00 00:00:00"),
    ("prev_avg_period", ""), ("ltm_range", ""), ("GRIB_name", ""), ("GRIB_id", ""), ("Grib1_Center", ""), ("GRIB_paramId", ""), ("GRIB_shortName", ""), ("GRIB_units", ""), ("GRIB_dataType", "an"), ("GRIB_typeOfLevel", "surface"),
    ("GRIB_stepType", "instant"), ("GRIB_gridType", "regular_ll"), ("GRIB_cfName", "unknown"), ("GRIB_cfVarName", ""), ("GRIB_gridDefinitionDescription", "Latitude/Longitude Grid"),
    ("GRIB_stepUnits", ""), ("GRIB_missingValue", ""), ("GRIB_numberOfPoints", ""), ("GRIB_iDirectionIncrementInDegrees", ""), ("GRIB_latitudeOfFirstGridPointInDegrees", ""), ("GRIB_jScansPositively", ""),
    ("grid_mapping", "rotated_pole"), ("grid_mapping", "crs"), ("grid_mapping_name", "rotated_latitude_longitude"), ("grid_mapping_name", "lambert_conformal_conic"),
    ("grid_mapping_name", "polar_stereographic"), ("grid_mapping_name", "latitude_longitude"), ("spatial_ref", "GEOGCS[\"WGS 84\",DATUM[\"WGS_1984\",SPHEROID[\"WGS 84\",6378137,298.257223563"),
    ("semi_major_axis", ""), ("inverse_flattening", ""), ("longitude_of_prime_meridian", ""), ("standard_parallel", ""), ("longitude_of_central_meridian", ""), ("latitude_of_projection_origin", ""), ("false_easting", ""), ("false_northing", ""),
    ("grid_north_pole_latitude", ""), ("grid_north_pole_longitude", ""), ("ancillary_variables", ""), ("flag_masks", ""), ("flag_values", ""), ("flag_meanings", ""),
    ("cell_measures", "area: areacella"), ("cell_measures", "area: areacello"), ("cell_methods", "area: mean"), ("cell_methods", "time: maximum"), ("cell_methods", "time: mean (interval: 1 month)"),
    ("cell_methods", "time: point"), ("cell_methods", "time: mean"), ("cell_methods", "area: time: mean"), ("comment", ""), ("description", ""), ("actual_range", ""), ("valid_range", ""), ("standard_name", "ocean_sigma_coordinate"),
    ("standard_name", "land_binary_mask"), ("standard_name", "land_area_fraction"), ("standard_name", "surface_altitude"), ("standard_name", "precipitation_flux"), ("standard_name", "relative_humidity"),
    ("standard_name", "specific_humidity"), ("standard_name", "geopotential"), ("standard_name", "geopotential_height"), ("standard_name", "sea_water_temperature"), ("standard_name", "sea_water_salinity"), ("standard_name", "sea_surface_height_above_geoid"),
    ("standard_name", "sea_surface_temperature"), ("standard_name", "air_pressure_at_sea_level"), ("standard_name", "air_pressure"), ("standard_name", "surface_air_pressure"), ("standard_name", "wind_speed"), ("standard_name", "northward_wind"),
    ("standard_name", "eastward_wind"), ("standard_name", "air_temperature"), ("standard_name", "cell_area"), ("standard_name", "projection_y_coordinate"), ("standard_name", "projection_x_coordinate"), ("standard_name", "grid_latitude"), ("standard_name", "grid_longitude"),
    ("long_name", "latitude in rotated pole grid"), ("long_name", "longitude in rotated pole grid"), ("long_name", "Sea Surface Temperature"), ("long_name", "SEA SURFACE TEMPERATURE"), ("long_name", "2 metre temperature"), ("long_name", "Near-Surface Air Temperature"),
    ("long_name", "Mean Sea Level Pressure"), ("long_name", "Geopotential height"), ("long_name", "U component of wind"), ("long_name", "zonal wind"), ("long_name", "meridional wind"), ("long_name", "precipitation"), ("long_name", "relative humidity"), ("long_name", "surface pressure"), ("long_name", "pressure"), ("long_name", "height"), ("long_name", "depth"), ("long_name", "Temperature"), ("long_name", "temperature"), ("long_name", "number"), ("long_name", "level"), ("long_name", ""),
    ("units", "kg m-2 s-1"), ("units", "kg m**-2 s**-1"), ("units", "kg m-2"), ("units", "kg kg-1"), ("units", "W m-2"), ("units", "W/m^2"), ("units", "m**2 s**-2"), ("units", "m s**-1"), ("units", "mm/day"), ("units", "mm"), ("units", "km"), ("units", "m2"), ("units", "psu"), ("units", "m/s"), ("units", "m s-1"), ("units", "M/S"), ("units", "Deg C"), ("units", "DEG C"), ("units", "degC"), ("units", "Celsius"), ("units", "degree_C"),
    ("units", "millibars"), ("units", "millibar"), ("units", "mb"), ("units", "hPa"), ("units", "Pa"), ("units", "percent"), ("units", "%"), ("units", "degrees"), ("units", "degree"), ("units", "radian"), ("units", "level"), ("units", "meters"), ("units", "METERS"), ("units", "m"), ("units", "1"), ("units", "K"),
    ("axis", "Z"), ("positive", "down"), ("positive", "up"), ("long_name", "Time"), ("calendar", "360_day"), ("calendar", "365_day"), ("calendar", "noleap"), ("calendar", "julian"), ("calendar", "gregorian"), ("calendar", "proleptic_gregorian"), ("calendar", "standard"),
    ("units", "hours"), ("units", "seconds since 1970-01-01 00:00:00"), ("units", "seconds since 1970-01-01T00:00:00Z"), ("units", "minutes since 1970-01-01 00:00:00"), ("units", "hours since 1900-01-01 00:00:00.0"), ("units", "hours since 1800-1-1 00:00:0.0"), ("units", "HOURS since 0000-01-01 00:00:00"), ("units", "days since 1970-01-01 00:00:00"), ("units", "days since 0001-01-01 00:00:00"), ("units", "days since 1850-01-01 00:00:00"), ("units", "days since 1900-01-01 00:00:00"),
]

FILLS = [
    ("valid_min", INT, 0), ("valid_max", INT, 0), ("missing_value", SHORT, -32767), ("_FillValue", SHORT, -32768), ("_FillValue", SHORT, -32767), ("_FillValue", INT, -2147483647), ("_FillValue", INT, -9999),
    ("missing_value", SHORT, 32766), ("_FillValue", SHORT, 32766), ("scale_factor", FLOAT, 0.01), ("add_offset", FLOAT, 0.0), ("add_offset", DOUBLE, 0.0), ("scale_factor", DOUBLE, 1.0),
    ("_FillValue", DOUBLE, 9.969209968386869e36), ("_FillValue", DOUBLE, float("nan")), ("_FillValue", DOUBLE, -9999.0), ("missing_value", DOUBLE, 1e20), ("_FillValue", DOUBLE, 1e20), ("missing_value", FLOAT, 9.969209968386869e36), ("_FillValue", FLOAT, 9.969209968386869e36), ("_FillValue", FLOAT, float("nan")),
    ("missing_value", FLOAT, -9999.0), ("_FillValue", FLOAT, -9999.0), ("missing_value", FLOAT, -999.0), ("_FillValue", FLOAT, -999.0), ("missing_value", FLOAT, -1e34), ("_FillValue", FLOAT, -1e34), ("missing_value", FLOAT, 1e20), ("_FillValue", FLOAT, 1e20),
]

# Coordinates as most files describe them.
COORDINATES = [
    name("TIME") + text("units", "days since 1900-01-01 00:00:00") + text("axis", "T"),
    name("x") + text("standard_name", "projection_x_coordinate") + text("units", "m") + text("axis", "X"),
    name("time") + text("standard_name", "time") + text("long_name", "time") + text("bounds", "time_bnds") + text("units", "days since 1850-01-01")
    + text("calendar", "standard") + text("axis", "T"),
    name("longitude") + text("units", "degrees_east") + text("long_name", "longitude") + text("standard_name", "longitude"),
    name("latitude") + text("units", "degrees_north") + text("long_name", "latitude") + text("standard_name", "latitude"),
    name("lon") + text("long_name", "Longitude") + text("units", "degrees_east") + text("standard_name", "longitude") + text("axis", "X") + text("bounds", "lon_bnds"),
    name("lat") + text("long_name", "Latitude") + text("units", "degrees_north") + text("standard_name", "latitude") + text("axis", "Y") + text("bounds", "lat_bnds"),
    text("coordinates", "lon lat") + text("coordinates", "longitude latitude") + text("coordinates", "lat lon"),
    name("lon") + struct.pack(">IIII", 1, 0, 12, 3) + text("standard_name", "longitude") + text("long_name", "longitude") + text("units", "degrees_east") + text("axis", "X") + struct.pack(">I", DOUBLE),
    name("lat") + struct.pack(">IIII", 1, 1, 12, 3) + text("standard_name", "latitude") + text("long_name", "latitude") + text("units", "degrees_north") + text("axis", "Y") + struct.pack(">I", DOUBLE),
]

# Entries that this program adds: chains, metadata.
OURS = [
    b'{"options":{"layout":"auto","preset":"default"},"writer":"nc3z 0.1.0"}',
    b'{"options":{"preset":"fast"},"writer":"nc3z 0.1.0"}', b'{"options":{"preset":"max"},"writer":"nc3z 0.1.0"}', b'{"options":{"preset":"default"},"writer":"nc3z 0.1.0"}',
    b'[{"check":-1,"filters":[{"dict_size":2097152,"id":33,"lc":3,"lp":0,"pb":0}],"format":3,"id":"lzma","preset":null}]',
    b'[{"elementsize":2,"id":"shuffle"},{"id":"zstd","level":9}],[{"elementsize":8,"id":"shuffle"},{"id":"zstd","level":9}]',
    b'[[],[{"id":"zstd","level":19}],[{"elementsize":8,"id":"shuffle"}],[{"id":"nc3z.num"}]]',
    b'[[],[{"id":"nc3z.num"}],[{"elementsize":4,"id":"shuffle"}],[{"dictionary":0,"id":"nc3z.num"}]]',
]

START = [
    b"CDF\x05" + bytes(8) + struct.pack(">IQ", 10, 3), b"CDF\x01" + bytes(4) + struct.pack(">II", 10, 3), b"CDF\x02" + bytes(4) + struct.pack(">II", 10, 3),
    b"CDF\x01" + bytes(4) + struct.pack(">II", 10, 3) + name("time") + struct.pack(">I", 0) + name("lat") + struct.pack(">I", 73) + name("lon") + struct.pack(">I", 144) + struct.pack(">II", 12, 5),
]


def content():
    parts = [*FIELDS, *(text(k, v) for k, v in FILE), *map(name, NAMES), *(text(k, v) for k, v in VARIABLE), *(number(*f) for f in FILLS),
             *COORDINATES, *OURS, *START]
    seen, kept = set(), []
    for part in parts:
        if part not in seen:
            seen.add(part)
            kept.append(part)
    return b"".join(kept)


def finalize(samples, body=None, number=DICTIONARY_ID):
    """The dictionary in zstd's own format: tables of frequencies, then the content."""

    class Parameters(ctypes.Structure):
        _fields_ = [("level", ctypes.c_int), ("notification", ctypes.c_uint), ("dictionary_id", ctypes.c_uint)]

    library = ctypes.CDLL(ctypes.util.find_library("zstd") or "libzstd.so.1")
    library.ZDICT_finalizeDictionary.restype = ctypes.c_size_t
    body = content() if body is None else body
    room = len(body) + 4096
    out = ctypes.create_string_buffer(room)
    sizes = (ctypes.c_size_t * len(samples))(*map(len, samples))
    done = library.ZDICT_finalizeDictionary(out, ctypes.c_size_t(room), body, ctypes.c_size_t(len(body)), b"".join(samples), sizes,
                                            ctypes.c_uint(len(samples)), Parameters(LEVEL, 0, number))
    if library.ZDICT_isError(ctypes.c_size_t(done)):
        raise SystemExit("zstd refuses the samples: too few?")
    return out.raw[:done]


def sample(path):
    """A head copy's content, nearly: the header, and a chain table."""
    data = path.read_bytes()
    header = nc3z_ref.Header(data)
    return data[:min(header.length, 20_000)] + OURS[-1]


def main():
    parser = argparse.ArgumentParser(description="Makes the dictionary for head copies and sections.")
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE", help="a classic file, whose header counts")
    parser.add_argument("-o", "--output", type=Path, required=True, metavar="OUT")
    options = parser.parse_args()
    samples = []
    for path in sorted(options.files):
        try:
            samples.append(sample(path))
        except nc3z_ref.Refused as error:
            print(f"{path}: left out: {error}", file=sys.stderr)
    options.output.write_bytes(finalize(samples))
    print(f"{options.output}: {options.output.stat().st_size} bytes, of {len(samples)} headers")


if __name__ == "__main__":
    main()
